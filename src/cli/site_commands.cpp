// Commands of clusters that scripts call, and that have nothing to do here: lfs, where there is no Lustre,
// and setrpaths.sh, which makes programs find the libraries of a software stack of its own. They say so, and
// let the script go on. A real lfs on PATH is run in their place.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "os/fd.h"
#include "text/number.h"

namespace minke::cli {

namespace {

// The path of another program of this name; empty if there is none.
std::string other_program(const std::string& name) {
  char own[PATH_MAX], found[PATH_MAX];
  if (::realpath("/proc/self/exe", own) == nullptr) return {};
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : text::split(path == nullptr ? "" : path, ':')) {
    const std::string candidate = std::string(directory) + "/" + name;
    if (directory.empty() || ::access(candidate.c_str(), X_OK) != 0) continue;
    if (::realpath(candidate.c_str(), found) == nullptr) continue;
    if (std::strcmp(own, found) != 0 && !std::string_view(found).ends_with("/minke")) return candidate;
  }
  return {};
}

// The words that are neither options nor their values: the files. All options of setstripe take a value.
std::vector<std::string> files_of(int argc, char** argv, bool options_take_values) {
  std::vector<std::string> files;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.size() > 1 && word.front() == '-') {
      const bool separate = options_take_values && word.find('=') == std::string_view::npos &&
                            (word.starts_with("--") || word.size() == 2);
      if (separate) ++i;
    } else {
      files.emplace_back(word);
    }
  }
  return files;
}

int set_stripes(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) {
      const os::UniqueFd made(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));  // as lfs does
      if (!made) {
        std::fprintf(stderr, "lfs setstripe: %s: %s\n", file.c_str(), std::strerror(errno));
        return 1;
      }
    }
    std::fprintf(stderr,
                 "lfs setstripe: %s is not on Lustre: its file system has no stripes, and needs none\n",
                 file.c_str());
  }
  return 0;
}

int get_stripes(const std::vector<std::string>& files) {
  int status = 0;
  for (const std::string& file : files) {
    if (::access(file.c_str(), F_OK) == 0) {
      std::printf("%s\nnot on Lustre: no stripes\n", file.c_str());
      continue;
    }
    std::fprintf(stderr, "lfs getstripe: %s: %s\n", file.c_str(), std::strerror(errno));
    status = 1;
  }
  return status;
}

}  // namespace

int lfs_main(int argc, char** argv) {
  if (const std::string real = other_program("lfs"); !real.empty()) {
    ::execv(real.c_str(), argv);
    std::fprintf(stderr, "lfs: %s: %s\n", real.c_str(), std::strerror(errno));
    return 127;
  }
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "setstripe" || verb == "migrate") return set_stripes(files_of(argc, argv, true));
  if (verb == "getstripe") return get_stripes(files_of(argc, argv, false));
  std::fprintf(stderr, "lfs: there is no Lustre here; its commands %s\n",
               verb == "quota" || verb == "df" ? "are minke storage usage and df instead" : "do nothing");
  return 1;
}

int setrpaths_main(int argc, char** argv) {
  std::string path;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--path" && i + 1 < argc) path = argv[++i];
    if (word.starts_with("--path=")) path = word.substr(std::string_view("--path=").size());
  }
  if (path.empty()) {
    std::fputs("setrpaths.sh: --path PATH: which programs are meant?\n", stderr);
    return 1;
  }
  if (::access(path.c_str(), F_OK) != 0) {
    std::fprintf(stderr, "setrpaths.sh: %s: %s\n", path.c_str(), std::strerror(errno));
    return 1;
  }
  std::printf("setrpaths.sh: nothing to change in %s: programs find the system's own libraries here\n",
              path.c_str());
  return 0;
}

}  // namespace minke::cli
