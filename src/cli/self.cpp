#include "cli/self.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "cli/complain.h"
#include "cli/shell_install.h"
#include "engine/open.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "os/program_output.h"
#include "os/this_program.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/shell_quote.h"

namespace minke::cli {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What a program prints, if it ends well.
Result<std::string> output_of(const std::vector<std::string>& argv) {
  auto started = os::ProgramOutput::start(argv);
  if (!started) return failure(started.error());
  std::string out;
  char buffer[65536];
  for (;;) {
    const auto got = started->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    out.append(buffer, *got);
  }
  const auto ended = started->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code != 0) return failure(text::printable_lines(ended->complaint));
  return out;
}

// The package manager's own program is its to change.
Status check_owner(const std::string& program, const std::string& instead) {
  struct stat status {};
  const bool packaged = program == "/usr/bin/minke" && ::stat("/usr/share/doc/minke", &status) == 0;
  if (packaged) return failure(program + " came with a package: " + instead);
  return {};
}

bool is_on_path(const std::string& directory) {
  const std::string path = variable("PATH");
  for (const std::string_view one : text::split(path, ':'))
    if (one == directory) return true;
  return false;
}

// The program's bytes, out of an archive if it is one. tar(1) decompresses it, and writes one file to its
// output.
Result<std::string> program_of(const std::string& file) {
  const bool is_archive = file.ends_with(".tar.gz") || file.ends_with(".tgz");
  if (!is_archive) return os::read_file(file, kMostBytes);
  const auto names = output_of({"/usr/bin/env", "tar", "-tzf", file});
  if (!names)
    return failure("tar cannot read " + text::printable(file) +
                   ": it is no archive, or not all of it is there");
  for (const std::string_view name : text::split(*names, '\n'))
    if (name.ends_with("/bin/minke") || name == "bin/minke")
      return output_of({"/usr/bin/env", "tar", "-xzOf", file, "--", std::string(name)});
  return failure("there is no bin/minke in " + text::printable(file));
}

// Its version, told by itself: it runs here.
Result<std::string> version_of(const std::string& program) {
  const auto told = output_of({program, "--version"});
  if (!told) return failure("it does not run here: " + told.error().message);
  const std::string_view line = text::trim(*told);
  if (!line.starts_with("minke "))
    return failure("it is not minke: it says \"" + text::printable(line.substr(0, 80)) + "\"");
  return std::string(line);
}

// Of "minke 0.1.0", as far as it has numbers.
std::vector<uint64_t> numbers_of(std::string_view version) {
  std::vector<uint64_t> numbers;
  for (const std::string_view part : text::split(version.substr(version.rfind(' ') + 1), '.'))
    numbers.push_back(std::strtoull(std::string(part).c_str(), nullptr, 10));
  return numbers;
}

// An older program reads no database that a newer one has changed, and says so before it changes anything.
void warn_of_older(const std::string& version, const std::string& program) {
  if (numbers_of(version) >= numbers_of(kVersion)) return;
  std::fprintf(stderr,
               "minke: warning: %s is older than minke %s, which was there\n"
               "It refuses a database that the newer one has changed, and changes nothing then. To go back:\n"
               "  %s self update FILE    with the archive of minke %s\n"
               "  %s backup --restore FILE    with a copy that %s has written\n",
               version.c_str(), kVersion, program.c_str(), kVersion, program.c_str(), version.c_str());
}

// Why a program cannot be put there, and what to do.
Error not_written(const std::string& place, const Error& error) {
  const std::string directory = text::printable(place.substr(0, place.rfind('/') + 1));
  if (error.code == ENOSPC || error.code == EDQUOT)
    return Error{error.code, directory + " has no room for the program; what is there is as it was"};
  if (error.code == EROFS || error.code == EACCES || error.code == EPERM)
    return Error{
        error.code,
        directory + " cannot be written to by you; minke self install --to DIRECTORY puts it elsewhere"};
  return error;
}

// Writes it beside its place, tries it there, and puts it into its place in one step.
Result<std::string> put_program(const std::string& content, const std::string& place) {
  const std::string beside = place + ".new";
  if (const Status written = os::replace_file(beside, content, 0755); !written)
    return failure(not_written(place, written.error()));
  auto version = version_of(beside);
  if (!version) {
    ::unlink(beside.c_str());
    return version;
  }
  if (::rename(beside.c_str(), place.c_str()) != 0) return failure_from_errno(place, errno);
  return version;
}

}  // namespace

int self_install(std::string directory) {
  if (directory.empty() && ::geteuid() != 0 && variable("HOME").empty())
    return complain(Error{0, "HOME is not set: minke self install --to DIRECTORY"});
  if (directory.empty()) directory = ::geteuid() == 0 ? "/usr/local/bin" : variable("HOME") + "/.local/bin";
  const auto program = os::this_program();
  if (!program) return complain(program.error());
  if (const Status made = os::make_directories(directory, 0755); !made) return complain(made.error());
  const std::string place = directory + "/minke";
  if (place == *program) return complain(Error{0, place + " is this program already"});
  const auto content = os::read_file(*program, kMostBytes);
  if (!content) return complain(content.error());
  const auto version = put_program(*content, place);
  if (!version) return complain(version.error());
  std::printf("%s is in %s\n", version->c_str(), place.c_str());
  if (!is_on_path(directory))
    std::printf("%s is not on PATH; in every shell: %s env --install\n", text::printable(directory).c_str(),
                text::printable(text::shell_quoted(place)).c_str());
  return 0;
}

int self_update(const std::string& file) {
  const auto program = os::this_program();
  if (!program) return complain(program.error());
  if (const Status own = check_owner(*program, "apt install ./minke_VERSION_ARCHITECTURE.deb"); !own)
    return complain(own.error());
  const auto content = program_of(file);
  if (!content) return complain(content.error());
  const auto version = put_program(*content, *program);
  if (!version) return complain(Error{0, text::printable(file) + ": " + version.error().message});
  std::printf("%s is in %s\n", version->c_str(), program->c_str());
  std::fflush(stdout);
  warn_of_older(text::printable(*version), text::printable(text::shell_quoted(*program)));
  if (engine::open(engine::Start::kNever)) {
    const bool has_unit =
        os::is_shared(os::minke_home_path()) && ::access("/etc/systemd/system/minke.service", F_OK) == 0;
    std::printf("The daemon goes on with the old one; jobs go on while it changes: %s\n",
                has_unit ? "systemctl restart minke" : "minke down --keep-jobs && minke up");
  }
  return 0;
}

int self_uninstall() {
  const auto program = os::this_program();
  if (!program) return complain(program.error());
  if (const Status own = check_owner(*program, "apt remove minke"); !own) return complain(own.error());
  const auto cluster = engine::open(engine::Start::kNever);
  if (cluster || cluster.error().code != ECONNREFUSED)
    return complain(Error{0, "the cluster is up; stop it first: minke down"});
  // Before the shells are changed: all of it is done, or nothing.
  const std::string directory = program->substr(0, program->rfind('/') + 1);
  if (::access(directory.c_str(), W_OK) != 0)
    return complain(Error{errno, *program + " cannot be removed by you: " + std::strerror(errno)});
  const std::string home = os::minke_home_path();
  const auto shells = uninstall_from_shells(home);
  if (!shells) return complain(shells.error());
  std::fputs(shells->c_str(), stdout);
  if (::unlink(program->c_str()) != 0) return complain(failure_from_errno(*program, errno).value());
  std::printf("removed %s\n", program->c_str());
  struct stat status {};
  if (::stat(home.c_str(), &status) == 0)
    std::printf("Jobs' records and settings are still in %s; to remove them, too: rm -r %s\n",
                text::printable(home).c_str(), text::printable(text::shell_quoted(home)).c_str());
  return 0;
}

}  // namespace minke::cli
