#include "portal/submission.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "model/error.h"
#include "os/fd.h"
#include "os/program_output.h"
#include "text/number.h"

namespace minke::portal {
namespace {

constexpr size_t kMostSaid = 64 * 1024;
constexpr std::chrono::seconds kPatience{60};

std::string without_prefix(std::string_view said, std::string_view prefix) {
  std::string text;
  for (std::string_view line : text::split(said, '\n')) {
    while (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    if (line.empty()) continue;
    text += (text.empty() ? "" : "\n") + std::string(line);
  }
  return text;
}

// Slurm's number of words that it ends with; 0: they are not Slurm's.
int number_of(std::string_view words) {
  constexpr int kFirst = 2000, kLast = 2300;
  for (std::string_view line : text::split(words, '\n')) {
    line = text::trim(line);
    // What to do about it stands in parentheses behind.
    const std::string_view before = line.ends_with(')') ? line.substr(0, line.rfind(" (")) : line;
    for (int code = kFirst; code < kLast; ++code) {
      const std::string_view known = model::slurm_error_text(code);
      if (known.empty() || known.starts_with("Unknown error")) continue;
      if (line.ends_with(known) || before.ends_with(known)) return code;
    }
  }
  return 0;
}

}  // namespace

Result<os::UniqueFd> memory_file(std::string_view content) {
  os::UniqueFd file(::memfd_create("submission", MFD_CLOEXEC));
  if (!file) return failure_from_errno("memfd_create", errno);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0) return failure_from_errno("a job's script", errno);
    content.remove_prefix(static_cast<size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Result<Submitted> submit(const Submission& submission) {
  const auto script = memory_file(submission.script);
  if (!script) return failure(script.error());
  std::vector<std::string> command = {"/proc/self/exe"};
  command.insert(command.end(), {"sbatch", "--parsable"});
  if (submission.only_test) command.emplace_back("--test-only");
  command.insert(command.end(), submission.options.begin(), submission.options.end());
  os::UniqueFd environment;
  if (submission.environment) {
    std::string all;
    for (const std::string& one : *submission.environment) all += one + '\0';
    auto file = memory_file(all);
    if (!file) return failure(file.error());
    environment = std::move(*file);
    // The child opens it by this process's descriptor, which it does not inherit.
    command.push_back("--export-file=/proc/" + std::to_string(::getpid()) + "/fd/" +
                      std::to_string(environment.get()));
  }
  auto running = os::ProgramOutput::start(
      command, {.timeout = kPatience, .most_bytes = kMostSaid, .input = script->get()});
  if (!running) return failure(running.error());
  std::string said;
  char buffer[4096];
  for (;;) {
    const auto got = running->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    said.append(buffer, *got);
  }
  const auto ended = running->finish();
  if (!ended) return failure(ended.error());
  const std::string notes = without_prefix(ended->complaint, "sbatch: ");
  if (ended->exit_code != 0) {
    const std::string words = without_prefix(notes, "error: ");
    const int number = number_of(words);
    return failure(words.empty() ? "sbatch failed" : words, number != 0 ? number : EINVAL);
  }
  const auto id = text::parse_unsigned(text::trim(said.substr(0, said.find(';'))), UINT32_MAX);
  return Submitted{static_cast<uint32_t>(id.value_or(0)), notes};
}

}  // namespace minke::portal
