#include "grow/steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/base64.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

constexpr int kLong = 1800;  // s, for what fetches or starts a lot

using text::shell_quoted;

}  // namespace

Step packages_step(const Machine& machine, const std::vector<std::string>& more) {
  std::vector<std::string> all = packages_of(machine.is_head());
  all.insert(all.end(), more.begin(), more.end());
  const std::string names = fmt::format("{}", fmt::join(all, " "));
  return {.id = "packages " + machine.name,
          .host = machine.host,
          .what = "install what is missing of " + names,
          .why = machine.is_head() ? "slurmctld, slurmdbd and their data base run here" : "slurmd runs here",
          .checked = "dpkg says that all are installed",
          .undone = "what was installed by it is purged",
          // The packages that would be new, with all that they need: those alone are taken away again.
          .capture = "names=" + shell_quoted(names) + R"sh(
missing=; for name in $names; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing="$missing $name"
done
[ -z "$missing" ] || {
  simulate() { apt-get -s install --no-install-recommends $missing 2>/dev/null; }
  simulate >/dev/null || apt-get -qq update >/dev/null
  simulate | sed -n 's/^Inst \([^ ]*\).*/\1/p'
})sh",
          .script = "names=" + shell_quoted(names) + R"sh(
missing=; for name in $names; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing="$missing $name"
done
[ -z "$missing" ] || {
  dpkg --configure -a >/dev/null 2>&1
  apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends $missing >/run/minke-grow.apt 2>&1 ||
    { tail -n 5 /run/minke-grow.apt >&2; exit 1; }
  rm -f /run/minke-grow.apt
  # Its package starts it for every address, as a user that it refuses.
  case "$missing " in *" slurmrestd "*) ! has_systemd || systemctl disable -q --now slurmrestd 2>/dev/null || : ;; esac
})sh",
          .check = "for name in " + names + R"sh(; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || die "$name is not installed"
done)sh",
          .undo = R"sh([ -z "$before" ] || {
  present=; for name in $before; do dpkg-query -W "$name" >/dev/null 2>&1 && present="$present $name"; done
  [ -z "$present" ] || apt-get -qq -y -o DPkg::Lock::Timeout=300 purge $present >/dev/null
})sh",
          .again = true,
          .seconds = kLong};
}

Step people_step(const Machine& machine, const std::vector<Person>& people) {
  std::string wanted;
  for (const Person& person : people)
    if (person.uid != 0 && !machine.people.contains(person.name))
      wanted += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", person.name, person.uid, person.gid, person.group,
                            person.home, person.shell);
  return {
      .id = "people " + machine.name,
      .host = machine.host,
      .what = wanted.empty()
                  ? "nothing: all people with accounts are known there"
                  : "add the people with accounts who are missing there, with the head's numbers, without "
                    "home directories and passwords",
      .why = "a job runs under its user's number on every machine",
      .checked = "each name has the head's number",
      .undone = "those added are removed",
      .capture = "wanted=" + shell_quoted(wanted) + R"sh(
printf %s "$wanted" | while IFS="$tab" read -r name uid gid group home shell; do
  getent passwd "$name" >/dev/null || printf 'user\t%s\n' "$name"
  getent group "$gid" >/dev/null || printf 'group\t%s\n' "$group"
done)sh",
      .script = "wanted=" + shell_quoted(wanted) + R"sh(
printf %s "$wanted" | while IFS="$tab" read -r name uid gid group home shell; do
  getent group "$gid" >/dev/null || groupadd -g "$gid" "$group" || exit 1
  getent passwd "$name" >/dev/null || useradd -M -u "$uid" -g "$gid" -d "$home" -s "$shell" "$name" || exit 1
done)sh",
      .check = "wanted=" + shell_quoted(wanted) + R"sh(
printf %s "$wanted" | while IFS="$tab" read -r name uid gid group home shell; do
  [ "$(id -u "$name" 2>/dev/null)" = "$uid" ] || die "$name is not $uid"
done)sh",
      .undo = R"sh(
printf '%s\n' "$before" | while IFS="$tab" read -r kind name; do
  case $kind in user) userdel "$name" 2>/dev/null || : ;; esac
done
printf '%s\n' "$before" | while IFS="$tab" read -r kind name; do
  case $kind in group) groupdel "$name" 2>/dev/null || : ;; esac
done; :)sh"};
}

Step munge_step(const Machine& machine) {
  Step step{.id = "munge " + machine.name,
            .host = machine.host,
            .why = "munge tells the daemons who speaks to them; all machines have one key",
            .checked = "what the head has signed is believed",
            .undone = "the key that was there is put back",
            .capture = "save /etc/munge/munge.key; service_state munge munged",
            .undo = "restore && if [ -e /usr/sbin/munged ]; then put_back; fi",
            .again = true};
  if (machine.is_head()) {
    step.what = "start munge; a new key where there is none";
    step.script = R"sh(
[ -s /etc/munge/munge.key ] || head -c 1024 /dev/urandom | base64 -w0 | put /etc/munge/munge.key 0400 munge:munge || exit 1
runs munge munged || start munge munged
until_true 20 sh -c 'munge -n | unmunge')sh";
    step.check = "munge -n | unmunge >/dev/null";
    return step;
  }
  step.what = "the head's key, and munge";
  step.inputs = {{"key", "base64 -w0 /etc/munge/munge.key"}, {"token", "munge -n | base64 -w0"}};
  step.script = R"sh(
[ "$(base64 -w0 /etc/munge/munge.key 2>/dev/null)" = "$key" ] && runs munge munged || {
  printf %s "$key" | put /etc/munge/munge.key 0400 munge:munge && start munge munged
}
until_true 20 sh -c 'munge -n | unmunge')sh";
  step.check = R"sh(printf %s "$token" | base64 -d | unmunge >/dev/null)sh";
  return step;
}

Step files_step(const Machine& machine, const std::vector<File>& files) {
  std::string names;
  Step step{.id = "files " + machine.name,
            .host = machine.host,
            .why = "all machines of a Slurm have the same files",
            .checked = "each file has this content",
            .undone = "what was there before is put back"};
  for (const File& file : files) {
    if (file.head_only && !machine.is_head()) continue;
    const std::string path = shell_quoted(file.path);
    names += (names.empty() ? "" : " ") + file.path;
    const std::string content = text::base64(file.content);
    step.script +=
        fmt::format("printf %s {} | put {} {} {} || exit 1\n", content, path, file.mode, file.owner);
    // FirstJobId is put in later.
    step.check += fmt::format(
        "printf %s {} | base64 -d | sed 's/^FirstJobId=.*//' >/run/.minke-grow.$$; sed 's/^FirstJobId=.*//' "
        "{} | "
        "cmp -s - /run/.minke-grow.$$; same=$?; rm -f /run/.minke-grow.$$; "
        "[ $same = 0 ] || die {}' is not as planned'\n",
        content, path, path);
  }
  step.what = "write " + names;
  if (machine.is_head()) {
    names += std::string(" ") + kTokenKey;
    step.script += fmt::format(
        "[ -s {0} ] || head -c 32 /dev/urandom | base64 -w0 | put {0} 0600 slurm:slurm || exit 1\n",
        kTokenKey);
  }
  step.script += R"sh(
for directory in /var/lib/slurm /var/lib/slurm/slurmctld /var/log/slurm; do
  mkdir -p "$directory" && chown slurm:slurm "$directory" || exit 1
done
mkdir -p /var/lib/slurm/slurmd)sh";
  step.capture = "save " + names;
  step.undo = "restore";
  return step;
}

Step database_step(const std::string& password) {
  const std::string quoted = shell_quoted(password);
  return {.id = "database",
          .what = "start MariaDB; the data base slurm_acct_db, and its user slurm",
          .why = "slurmdbd keeps accounts and the record there",
          .checked = "the user can use it",
          .undone = "data base and user are removed, if they were not there before",
          .capture = R"sh(service_state mariadb mariadbd
runs mariadb mariadbd && [ -n "$(mariadb -N -e "show databases like 'slurm\_acct\_db'" 2>/dev/null)" ] && echo database; :)sh",
          .script = "password=" + quoted + R"sh(
runs mariadb mariadbd || start mariadb mariadbd
until_true 60 mariadb -e 'select 1' || die "MariaDB does not answer root on its socket"
mariadb <<SQL || die "MariaDB refuses to make slurm_acct_db"
create database if not exists slurm_acct_db;
create user if not exists slurm@localhost identified by '$password';
alter user slurm@localhost identified by '$password';
grant all on slurm_acct_db.* to slurm@localhost;
SQL)sh",
          .check = "MYSQL_PWD=" + quoted + " mariadb -u slurm slurm_acct_db -e 'select 1' >/dev/null",
          .undo = R"sh(
printf '%s\n' "$before" | grep -qx database || ! runs mariadb mariadbd ||
  mariadb -e 'drop database if exists slurm_acct_db; drop user if exists slurm@localhost' || exit 1
[ ! -e /usr/sbin/mariadbd ] || put_back)sh",
          .again = true,
          .seconds = 300};
}

Step slurmdbd_step(const std::string& cluster) {
  const std::string name = shell_quoted(cluster);
  return {.id = "slurmdbd",
          .what = "start slurmdbd, and tell it of the cluster " + cluster,
          .why = "it keeps the accounting of the cluster",
          .checked = "sacctmgr shows the cluster",
          .undone = "it is stopped",
          .capture = "service_state slurmdbd; save /etc/default/slurmdbd",
          .script = std::string("defect=") + shell_quoted(kDatabaseLibraryDefect) +
                    R"sh(
# A library of another release than the server's looks for the server's socket elsewhere.
socket=$(mariadb -N -e 'select @@socket' 2>/dev/null)
for library in /usr/lib/*/libmariadb.so.3 /usr/lib/libmariadb.so.3; do [ ! -e "$library" ] || break; done
[ -z "$socket" ] || [ ! -e "$library" ] || grep -qaF "$socket" "$library" || grep -qs '^MYSQL_UNIX_PORT=' /etc/default/slurmdbd || {
  { cat /etc/default/slurmdbd 2>/dev/null; printf 'MYSQL_UNIX_PORT=%s\nexport MYSQL_UNIX_PORT\n' "$socket"; } | base64 -w0 |
    put /etc/default/slurmdbd 0644 root:root || exit 1
}
runs slurmdbd || start slurmdbd
answers() { sacctmgr -n show cluster >/dev/null 2>&1; }
answers_or_ended() { answers || ! runs slurmdbd; }
until_true 90 answers_or_ended
answers || {
  what='slurmdbd does not answer'
  runs slurmdbd || what='slurmdbd has ended'
  said=$(last_lines slurmdbd)
  case $said in *"$defect"*)
    what="$what because of libmariadb3 $(dpkg-query -W -f '${Version}' libmariadb3 2>/dev/null): install another version and hold it, as minke grow plan says" ;;
  esac
  die "$what: $said"
}
)sh"
                    "sacctmgr -n show cluster " +
                    name + " format=cluster%100 | grep -qw " + name + " || sacctmgr -i add cluster " + name,
          .check = "sacctmgr -n show cluster " + name + " format=cluster%100 | grep -qw " + name,
          .undo = "restore; [ ! -e /usr/sbin/slurmdbd ] || put_back",
          .again = true,
          .seconds = 300};
}

Step number_step(const Machine& machine) {
  return {
      .id = "number " + machine.name,
      .host = machine.host,
      .what = "FirstJobId in slurm.conf: the number after Minke's last job",
      .why = "no two jobs of the cluster have one number",
      .checked = "the line is there",
      .undone = "with the file",
      .script = R"sh(first=$(printf %s "$first" | base64 -d)
case $first in ''|*[!0-9]*) die "Minke's next number is not known" ;; esac
sed -i "s/^FirstJobId=.*/FirstJobId=$first/" /etc/slurm/slurm.conf && sync /etc/slurm/slurm.conf)sh",
      .check =
          R"sh(first=$(printf %s "$first" | base64 -d); grep -qx "FirstJobId=$first" /etc/slurm/slurm.conf)sh",
      .inputs = {{"first", "base64 -w0 \"$home/grow/first_job_id\""}}};
}

Step slurmctld_step() {
  return {
      .id = "slurmctld",
      .what = "start slurmctld",
      .why = "the cluster goes on",
      .checked = "scontrol ping",
      .undone = "it is stopped, and its state is removed",
      .capture = "service_state slurmctld",
      .script =
          "runs slurmctld || start slurmctld\nuntil_true 60 slurmctld_answers || die \"slurmctld does not "
          "answer: "
          "$(last_error slurmctld)\"",
      .check = "slurmctld_answers",
      .undo = "[ ! -e /usr/sbin/slurmctld ] || put_back && rm -rf /var/lib/slurm/slurmctld/*",
      .again = true};
}

Step slurmd_step(const Machine& machine) {
  return {.id = "slurmd " + machine.name,
          .host = machine.host,
          .what = "start slurmd",
          .why = "jobs run there",
          .checked = "slurmctld has it, and it is not down",
          .undone = "it is stopped",
          .capture = "service_state slurmd",
          .script =
              "runs slurmd || start slurmd\nuntil_true 20 runs slurmd || die \"slurmd has ended: "
              "$(last_error slurmd)\"",
          .check =
              "runs slurmd || die \"slurmd does not run: $(last_error slurmd)\"\n"
              "up() { case $(sinfo -h -N -o %T -n " +
              shell_quoted(machine.name) +
              " | sort -u) in idle|mixed|allocated|completing|draining|drained|reserved) ;; *) return 1 ;; "
              "esac; }\n"
              "until_true 60 up || die \"" +
              machine.name + " is $(sinfo -h -N -o '%T: %E' -n " + shell_quoted(machine.name) +
              " | head -n 1)\"",
          .undo = "[ ! -e /usr/sbin/slurmd ] || put_back; end_scope; rm -rf /var/lib/slurm/slurmd",
          .again = true};
}

}  // namespace minke::grow
