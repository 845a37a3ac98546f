#include "grow/machine.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>

#include "node/nvml.h"
#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

using Words = std::vector<std::string_view>;

constexpr size_t kMostLines = 20000;
constexpr size_t kLongestLine = 4096;
constexpr std::array<std::string_view, 12> kSharedTypes = {
    "nfs",  "nfs4",      "lustre",         "ceph", "fuse.ceph", "beegfs",
    "gpfs", "glusterfs", "fuse.glusterfs", "cifs", "afs",       "orangefs"};

// Prints a line of words with tabs between them for each fact.
constexpr std::string_view kProbe = R"sh(
LC_ALL=C; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export LC_ALL PATH
say() { printf '%s' "$1"; shift; for word; do printf '\t%s' "$word"; done; printf '\n'; }
say name "$(uname -n)"
(. /etc/os-release && say system "$ID" "$VERSION_ID" "$PRETTY_NAME")
say kernel "$(uname -r)" "$(uname -m)"
say who "$(id -u)" "$(test "$(id -u)" != 0 && sudo -n true 2>/dev/null && echo yes)"
say clock "$(date +%s%3N)"
lscpu -p=CPU,CORE,SOCKET 2>/dev/null | awk -F, '
  !/^#/ { cpus++; if (!(($3 "," $2) in core)) { core[$3 "," $2]; cores++ } if (!($3 in socket)) { socket[$3]; sockets++ } }
  END { if (cpus) printf "cpus\t%d\t%d\t%d\n", cpus, cores, sockets }'
awk '/^MemTotal:/ { printf "memory\t%d\n", $2 / 1024 }' /proc/meminfo
df -Pk /tmp 2>/dev/null | awk 'NR == 2 { printf "tmp\t%d\n", $2 / 1024 }'
df -PTk -x tmpfs -x devtmpfs -x squashfs -x efivarfs 2>/dev/null |
  awk 'NR > 1 { printf "disk\t%s\t%s\t%d\t%d\n", $7, $2, $3 / 1024, $5 / 1024 }'
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=index,mig.mode.current,name --format=csv,noheader 2>/dev/null |
    while IFS=, read -r index mig name; do say gpu "$index" "${mig# }" "${name# }"; done
  minor() { sed -n 's/^DeviceFileMinor: *//p' "$1" 2>/dev/null; }
  nvidia-smi mig -lgi 2>/dev/null | awk '$2 ~ /^[0-9]+$/ && $3 == "MIG" { print $2, $4, $6 }' | while read -r index profile instance; do
    part=/proc/driver/nvidia/capabilities/gpu$index/mig/gi$instance
    for access in "$part"/ci*/access; do
      [ ! -r "$access" ] || say mig "$index" "$profile" "$(minor "$part/access")" "$(minor "$access")"
    done
  done
else
  for file in /proc/driver/nvidia/gpus/*/information; do
    [ -r "$file" ] && awk -F':[ \t]*' '/^Model/ { m = $2 } /^Device Minor/ { n = $2 } END { printf "gpu\t%s\t\t%s\n", n, m }' "$file"
  done
fi
controllers=" $(cat /sys/fs/cgroup/cgroup.controllers 2>/dev/null) "
case $(stat -fc %T /sys/fs/cgroup 2>/dev/null) in
  cgroup2fs) case $controllers in *" cpuset "*" memory "*) say groups 2 ;; *) say groups 0 ;; esac ;;
  tmpfs) say groups 1 ;; *) say groups 0 ;;
esac
if [ -d /run/systemd/system ]; then say services systemd
elif command -v service >/dev/null; then say services sysvinit; else say services none; fi
say switch "$(lldpctl -f keyvalue 2>/dev/null | sed -n 's/^lldp\..*\.chassis\.name=//p' | head -n 1)"
set -- ${SSH_CONNECTION:-}
say reached "${3:-}" "${1:-}"
ip -o addr show scope global 2>/dev/null | awk '{ split($4, a, "/"); printf "address\t%s\n", a[1] }'
for package in $packages; do
  have=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$package" 2>/dev/null)
  case $have in installed*) have=${have#* } ;; *) have= ;; esac
  say package "$package" "$have" "$(apt-cache policy "$package" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }')"
done
library=; for file in /usr/lib/*/libmariadb.so.3 /usr/lib/libmariadb.so.3; do [ -e "$file" ] && library=$file && break; done
defect=; [ -z "$library" ] || ! grep -qaF "$defect_words" "$library" || defect=yes
candidate=$(apt-cache policy libmariadb3 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }')
say library "${library:+$(dpkg-query -W -f '${Version}' libmariadb3 2>/dev/null || echo unknown)}" "$defect" "$candidate" \
  "$(apt-cache madison libmariadb3 2>/dev/null | awk '$3 != "'"$candidate"'" { print $3; exit }')"
for person in $people; do
  getent passwd "$person" | head -n 1 | while IFS=: read -r name _ uid gid _ home shell; do
    say person "$name" "$uid" "$gid" "$(getent group "$gid" | cut -d: -f1)" "$home" "$shell"
  done
done
[ ! -e /etc/slurm/slurm.conf ] || say slurm "$(grep -c '^# By minke grow' /etc/slurm/slurm.conf)"
awk 'FNR > 1 && $4 == "0A" { split($2, a, ":"); print a[2] }' /proc/net/tcp /proc/net/tcp6 2>/dev/null | sort -u |
  while read -r port; do case $port in 1AA1) say busy 6817 ;; 1AA2) say busy 6818 ;; 1AA3) say busy 6819 ;; esac; done
say end
)sh";

constexpr std::string_view kFailingLibrary = "11.8.9";

// "11.8.9" of "1:11.8.9+ds-4".
std::string_view upstream_of(std::string_view version) {
  if (const size_t epoch = version.find(':'); epoch != std::string_view::npos)
    version.remove_prefix(epoch + 1);
  return version.substr(0, version.find_first_not_of("0123456789."));
}

// Of the signs that a name in slurm.conf may have.
std::string safe_name(std::string_view name) {
  std::string out(name.substr(0, 60));
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  return out;
}

uint64_t number(std::string_view word, bool& good) {
  const auto value = text::parse_unsigned(word);
  good &= value.has_value();
  return value.value_or(0);
}

void read_gpu(const Words& words, Machine& machine) {
  Gpu gpu;
  gpu.product = std::string(words[3]);
  gpu.type = node::gpu_type_of(gpu.product);
  gpu.device = "/dev/nvidia" + std::string(words[1]);
  gpu.partitioned = words[2] == "Enabled";
  machine.gpus.push_back(std::move(gpu));
}

void read_instance(const Words& words, Machine& machine, bool& good) {
  const std::string device = "/dev/nvidia" + std::string(words[1]);
  const auto gpu = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                                [&](const Gpu& one) { return one.device == device; });
  const auto capability = [&](std::string_view minor) {
    return "/dev/nvidia-caps/nvidia-cap" + std::to_string(number(minor, good));
  };
  if (gpu == machine.gpus.end()) return;
  gpu->instances.push_back({safe_name(words[2]), capability(words[3]), capability(words[4])});
}

void read_person(const Words& words, Machine& machine, bool& good) {
  Person person;
  person.name = std::string(words[1]);
  person.uid = static_cast<uint32_t>(number(words[2], good));
  person.gid = static_cast<uint32_t>(number(words[3], good));
  person.group = std::string(words[4]);
  person.home = std::string(words[5]);
  person.shell = std::string(words[6]);
  machine.people[person.name] = person;
}

struct Fact {
  std::string_view name;
  size_t words;
  void (*take)(const Words&, Machine&, bool& good);
};
constexpr Fact kFacts[] = {
    {"name", 2,
     [](const Words& words, Machine& m, bool&) { m.name = words[1].substr(0, words[1].find('.')); }},
    {"system", 4,
     [](const Words& words, Machine& m, bool&) {
       m.system_id = words[1];
       m.system_version = words[2];
       m.system = words[3];
     }},
    {"kernel", 3,
     [](const Words& words, Machine& m, bool&) {
       m.kernel = words[1];
       m.architecture = words[2];
     }},
    {"who", 3,
     [](const Words& words, Machine& m, bool& good) {
       m.uid = static_cast<uint32_t>(number(words[1], good));
       m.may_sudo = words[2] == "yes";
     }},
    {"clock", 2,
     [](const Words& words, Machine& m, bool& good) {
       m.clock_milliseconds = static_cast<int64_t>(number(words[1], good));
     }},
    {"cpus", 4,
     [](const Words& words, Machine& m, bool& good) {
       m.cpus = static_cast<uint32_t>(number(words[1], good));
       m.cores = static_cast<uint32_t>(number(words[2], good));
       m.sockets = static_cast<uint32_t>(number(words[3], good));
     }},
    {"memory", 2, [](const Words& words, Machine& m, bool& good) { m.memory_mib = number(words[1], good); }},
    {"tmp", 2, [](const Words& words, Machine& m, bool& good) { m.tmp_mib = number(words[1], good); }},
    {"disk", 5,
     [](const Words& words, Machine& m, bool& good) {
       m.disks.push_back(
           {std::string(words[1]), std::string(words[2]), number(words[3], good), number(words[4], good)});
     }},
    {"gpu", 4, [](const Words& words, Machine& m, bool&) { read_gpu(words, m); }},
    {"mig", 5, read_instance},
    {"switch", 2, [](const Words& words, Machine& m, bool&) { m.network_switch = safe_name(words[1]); }},
    {"groups", 2,
     [](const Words& words, Machine& m, bool& good) {
       m.control_groups = static_cast<int>(number(words[1], good));
     }},
    {"services", 2, [](const Words& words, Machine& m, bool&) { m.services = words[1]; }},
    {"reached", 3,
     [](const Words& words, Machine& m, bool&) {
       m.address = words[1];
       m.head_address = words[2];
     }},
    {"address", 2, [](const Words& words, Machine& m, bool&) { m.addresses.emplace_back(words[1]); }},
    {"package", 4,
     [](const Words& words, Machine& m, bool&) {
       m.packages[std::string(words[1])] = {std::string(words[2]), std::string(words[3])};
     }},
    {"library", 5,
     [](const Words& words, Machine& m, bool&) {
       m.database_library.package = {std::string(words[1]), std::string(words[3])};
       m.database_library.defect = words[2] == "yes";
       m.database_library.another = words[4];
     }},
    {"person", 7, read_person},
    {"slurm", 2,
     [](const Words& words, Machine& m, bool&) {
       m.has_slurm_conf = true;
       m.is_ours = words[1] != "0";
     }},
    {"busy", 2,
     [](const Words& words, Machine& m, bool& good) {
       m.busy_ports.push_back(static_cast<uint16_t>(number(words[1], good)));
     }},
};

}  // namespace

std::vector<std::string> Gpu::offered() const {
  if (!partitioned) return {type};
  std::vector<std::string> types;
  for (const MigInstance& one : instances) types.push_back(type + "_" + one.profile);
  return types;
}

bool Disk::shared() const {
  return std::find(kSharedTypes.begin(), kSharedTypes.end(), type) != kSharedTypes.end();
}

const std::vector<std::string>& common_packages() {
  static const std::vector<std::string> kNames = {"munge", "slurm-client", "slurmd",
                                                  "slurm-wlm-basic-plugins", "slurm-wlm-jwt-plugin"};
  return kNames;
}

const std::vector<std::string>& head_packages() {
  static const std::vector<std::string> kNames = {"slurmctld", "slurmdbd", "slurmrestd", "mariadb-server",
                                                  "slurm-wlm-mysql-plugin"};
  return kNames;
}

std::vector<std::string> packages_of(bool head) {
  std::vector<std::string> names = common_packages();
  if (head) names.insert(names.end(), head_packages().begin(), head_packages().end());
  return names;
}

std::string probe_script(const std::vector<std::string>& people) {
  std::string packages, names;
  for (const auto* list : {&common_packages(), &head_packages()})
    for (const std::string& name : *list) packages += name + " ";
  for (const std::string& name : people) names += name + " ";
  return "packages=" + text::shell_quoted(packages) + "\npeople=" + text::shell_quoted(names) +
         "\ndefect_words=" + text::shell_quoted(kDatabaseLibraryDefect) + std::string(kProbe);
}

std::string database_library_problem(const Machine& machine) {
  const DatabaseLibrary& library = machine.database_library;
  const bool installed = !library.package.installed.empty();
  // Of what is not there yet, only the version can be known.
  const bool would_fail = upstream_of(library.package.available) == kFailingLibrary;
  if (installed ? !library.defect : !would_fail) return {};
  std::string words = "slurmdbd ends at its start with libmariadb3 " + library.package.version() +
                      (installed ? ", which is installed" : ", which would be installed") +
                      " (\"Number of columns in result ... " + kDatabaseLibraryDefect + "\"): ";
  if (!library.another.empty() && upstream_of(library.another) != kFailingLibrary)
    return words + "apt-get install --allow-downgrades libmariadb3=" + library.another +
           " && apt-mark hold libmariadb3";
  return words +
         "install another one before, and apt-mark hold it; Debian 12's 10.11 and Debian 13's 11.8.6 do not "
         "end it (snapshot.debian.org has them)";
}

Result<Machine> parse_machine(std::string_view text) {
  Machine machine;
  bool ended = false;
  size_t lines = 0;
  for (std::string_view line : text::split(text, '\n')) {
    if (++lines > kMostLines) return failure("the host printed more lines than it may");
    if (line.size() > kLongestLine) continue;
    const Words words = text::split(line, '\t');
    ended |= words[0] == "end";
    const auto* fact = std::find_if(std::begin(kFacts), std::end(kFacts),
                                    [&](const Fact& one) { return one.name == words[0]; });
    if (fact == std::end(kFacts)) continue;
    bool good = words.size() == fact->words;
    if (good) fact->take(words, machine, good);
    if (!good)
      return failure("what the host said cannot be understood: line " + std::to_string(lines) + ", " +
                     std::string(line.substr(0, 80)));
  }
  if (!ended) return failure("the host said only a part of what it was asked");
  if (machine.name.empty() || machine.cpus == 0 || machine.cores == 0 || machine.memory_mib == 0)
    return failure("the host does not tell its name, its processors or its memory (lscpu, /proc/meminfo)");
  return machine;
}

std::string SlurmVersion::text() const {
  if (year == 0) return "?";
  return std::to_string(year) + (month < 10 ? ".0" : ".") + std::to_string(month);
}

SlurmVersion slurm_version(std::string_view package) {
  if (const size_t epoch = package.find(':'); epoch != std::string_view::npos)
    package.remove_prefix(epoch + 1);
  const auto parts = text::split(package, '.');
  if (parts.size() < 2) return {};
  const auto year = text::parse_unsigned(parts[0], 99), month = text::parse_unsigned(parts[1], 12);
  if (!year || !month) return {};
  return {static_cast<uint32_t>(*year), static_cast<uint32_t>(*month)};
}

SlurmVersion slurm_version(const Machine& machine) {
  const auto found = machine.packages.find("slurmd");
  return found == machine.packages.end() ? SlurmVersion{} : slurm_version(found->second.version());
}

}  // namespace minke::grow
