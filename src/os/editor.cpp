#include "os/editor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "os/fd.h"
#include "os/files.h"

namespace minke::os {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Status run_editor(const std::string& path) {
  std::string editor = variable("VISUAL");
  if (editor.empty()) editor = variable("EDITOR");
  const std::string command = (editor.empty() ? "vi" : editor) + " \"$1\"";
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), "sh", path.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return failure("editor returned non-zero exit code");
  return {};
}

}  // namespace

Result<std::string> edit_text(const std::string& text, const std::string& name, size_t most) {
  const std::string directory = variable("TMPDIR");
  std::string path = (directory.empty() ? "/tmp" : directory) + "/" + name + "-XXXXXX";
  UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return failure_from_errno(path, errno);
  const bool written = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  file.reset();
  Result<std::string> changed = failure(path + ": cannot be written");
  if (written) {
    const Status edited = run_editor(path);
    changed = edited ? read_file(path, most) : Result<std::string>(failure(edited.error()));
  }
  ::unlink(path.c_str());
  return changed;
}

}  // namespace minke::os
