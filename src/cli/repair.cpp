#include "cli/repair.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "cli/complain.h"
#include "os/minke_home.h"
#include "store/repair.h"
#include "text/printable.h"
#include "text/shell_quote.h"

namespace minke::cli {

namespace {

// The home of a cluster whose database this user may touch.
Result<std::string> own_home() {
  auto home = os::minke_home();
  if (home && os::is_shared(*home) && ::geteuid() != 0)
    return failure("the database of a shared cluster is root's: only root can copy or repair it", EPERM);
  return home;
}

}  // namespace

int repair_database() {
  const auto home = own_home();
  if (!home) return complain(home.error());
  const std::string path = os::database_path(*home);
  const auto done = store::repair(path);
  if (!done) return complain(done.error());
  for (const std::string& name : done->set_aside)
    std::printf("set aside %s: it could not be read; it is kept, and not reported any more\n", name.c_str());
  if (done->was_sound) {
    std::printf("%s is sound%s\n", path.c_str(), done->set_aside.empty() ? ": nothing to repair" : "");
    return 0;
  }
  for (const std::string& lost : done->lost) std::printf("lost     %s\n", lost.c_str());
  std::printf("repaired %s: %llu rows; the damaged database is kept as %s\n", path.c_str(),
              static_cast<unsigned long long>(done->rows), done->kept_as.c_str());
  return 0;
}

int back_up_database(const std::string& file) {
  const auto home = own_home();
  if (!home) return complain(home.error());
  if (const Status done = store::back_up(os::database_path(*home), file); !done)
    return complain(
        done.error().code == EEXIST
            ? Error{EEXIST, done.error().message + "; a backup replaces nothing: choose another name"}
        : done.error().code == ENOENT
            ? Error{ENOENT, "cannot write " + text::printable(file) + ": there is no such directory"}
            : done.error());
  std::printf("copied to %s; to go back to it: minke down, then minke backup --restore %s\n",
              text::printable(file).c_str(), text::printable(text::shell_quoted(file)).c_str());
  return 0;
}

int restore_database(const std::string& file) {
  const auto home = own_home();
  if (!home) return complain(home.error());
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return complain(
        Error{EINVAL, text::printable(file) + " is no file: name one that minke backup has written"});
  const auto kept_as = store::go_back_to(os::database_path(*home), file);
  if (!kept_as) return complain(kept_as.error());
  std::printf("the cluster is as it was in %s; minke up starts it\n", text::printable(file).c_str());
  if (!kept_as->empty()) std::printf("what it was until now is kept as %s\n", kept_as->c_str());
  return 0;
}

}  // namespace minke::cli
