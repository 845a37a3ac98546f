#include "grow/host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "os/fd.h"
#include "os/program_output.h"
#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;
constexpr int kSshFailed = 255;
constexpr size_t kLongestWords = 1000;

// Nothing of a user's is in these. One that changes something waits for another of ours: a lock that no
// daemon it starts can keep, because flock -o closes it before the shell.
constexpr const char* kLook = "sh -s";
constexpr const char* kChange = "flock -o -w 300 /run/minke-grow.lock sh -s";

std::string as_root(const std::string& command) {
  return "if [ \"$(id -u)\" = 0 ]; then exec " + command + "; else exec sudo -n " + command + "; fi";
}

// The shell has read all of it before it runs anything: what runs cannot take the rest for its input.
std::string whole(const std::string& script) {
  return "{\n" + script + "\n} </dev/null\n";
}

Result<os::UniqueFd> memory_file(const std::string& text) {
  os::UniqueFd file(::memfd_create("script", MFD_CLOEXEC));
  if (file.get() < 0) return failure_from_errno("a script's file", errno);
  for (size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + at, text.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return failure_from_errno("a script's file", errno);
    at += static_cast<size_t>(wrote);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failure_from_errno("a script's file", errno);
  return file;
}

Result<Said> read_all(os::ProgramOutput& program) {
  Said said;
  char buffer[65536];
  while (true) {
    const auto got = program.read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    said.output.append(buffer, *got);
  }
  auto ended = program.finish();
  if (!ended) return failure(ended.error());
  said.exit_code = ended->exit_code;
  said.complaint = std::move(ended->complaint);
  return said;
}

}  // namespace

Status check_host(std::string_view host) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || text::is_digit(c) ||
           std::string_view(".-_:").find(c) != std::string_view::npos;
  };
  const size_t at = host.find('@');
  const std::string_view user = at == std::string_view::npos ? std::string_view("root") : host.substr(0, at);
  const std::string_view name = at == std::string_view::npos ? host : host.substr(at + 1);
  for (const std::string_view part : {user, name}) {
    if (part.empty() || part.size() > 253 || part.front() == '-' ||
        !std::all_of(part.begin(), part.end(), good))
      return failure("\"" + std::string(host.substr(0, 80)) +
                         "\" is no name of a host; it is NAME or USER@NAME, as ssh takes it",
                     EINVAL);
  }
  return {};
}

std::string host_words(const std::string& host) {
  return host.empty() ? "this machine" : host;
}

std::string Said::words() const {
  std::string last;
  for (const std::string* text : {&output, &complaint}) {
    for (std::string_view line : text::split(*text, '\n')) {
      line = text::trim(line);
      if (!line.empty()) last = std::string(line);
    }
  }
  if (last.empty()) last = "exit code " + std::to_string(exit_code);
  return last.substr(0, kLongestWords);
}

namespace {

// As root there: `command` is a shell's, and reads `input`.
Result<Said> run_with_input(const std::string& host, const std::string& command, int input,
                            std::chrono::seconds timeout) {
  std::vector<std::string> words;
  if (host.empty()) {
    words = {"/bin/sh", "-c", "exec " + command};
  } else {
    if (const Status good = check_host(host); !good) return failure(good.error());
    words = {"/usr/bin/ssh",
             "-o",
             "BatchMode=yes",
             "-o",
             "ConnectTimeout=10",
             "-o",
             "ServerAliveInterval=15",
             "-o",
             "ServerAliveCountMax=4",
             "-T",
             "--",
             host,
             as_root(command)};
  }
  os::ProgramOptions how;
  how.timeout = timeout;
  how.most_bytes = kMostBytes;
  how.input = input;
  auto program = os::ProgramOutput::start(words, std::move(how));
  if (!program) {
    if (program.error().code == ENOENT && !host.empty())
      return failure("ssh is not installed here: apt-get install openssh-client", ENOENT);
    return failure(host_words(host) + ": " + program.error().message, program.error().code);
  }
  auto said = read_all(*program);
  if (!said) {
    if (said.error().code == ETIMEDOUT)
      return failure(host_words(host) + " did not finish within " + std::to_string(timeout.count()) + " s",
                     ETIMEDOUT);
    return failure(host_words(host) + ": " + said.error().message, said.error().code);
  }
  if (!host.empty() && said->exit_code == kSshFailed)
    return failure(
        host + " cannot be reached: " + said->words() + "; ssh " + host + " must work without a password",
        EHOSTUNREACH);
  return said;
}

}  // namespace

Result<Said> run_on_host(const std::string& host, const std::string& script, const HostOptions& options) {
  const auto input = memory_file(whole(script));
  if (!input) return failure(input.error());
  return run_with_input(host, options.changes ? kChange : kLook, input->get(), options.timeout);
}

Result<Said> send_program(const std::string& host, const std::string& file, const std::string& path,
                          const std::string& sum, std::chrono::seconds timeout) {
  const os::UniqueFd input(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (input.get() < 0) return failure_from_errno(file, errno);
  const std::string script = "to=" + text::shell_quoted(path) + "; sum=" + text::shell_quoted(sum) +
                             "; mkdir -p \"${to%/*}\" && umask 077 && cat >\"$to.minke-grow\" && "
                             "[ \"$(sha256sum <\"$to.minke-grow\" | cut -c 1-64)\" = \"$sum\" ] && "
                             "chmod 755 \"$to.minke-grow\" && sync \"$to.minke-grow\" && "
                             "mv -f \"$to.minke-grow\" \"$to\" || "
                             "{ rm -f \"$to.minke-grow\"; echo \"$to did not arrive whole\" >&2; exit 1; }";
  return run_with_input(host, "flock -o -w 300 /run/minke-grow.lock sh -c " + text::shell_quoted(script),
                        input.get(), timeout);
}

}  // namespace minke::grow
