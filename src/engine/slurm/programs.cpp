#include "engine/slurm/programs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/slurm/token.h"
#include "model/error.h"
#include "os/random_key.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr size_t kMostBytes = size_t{2} << 30;
constexpr size_t kLongestText = size_t{64} << 20;
constexpr size_t kLongestLine = size_t{1} << 20;
constexpr size_t kMostPassedOver = size_t{1} << 20;

// Times as seconds since the epoch, arrays whole, and nothing that a user has set for his own listings.
const std::vector<std::string>& environment() {
  static const std::vector<std::string> kChanges = {
      "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0", "LC_ALL=C",
      // What changes what is listed, or how.
      "SLURM_CLUSTERS", "SLURM_JSON", "SLURM_YAML", "SLURM_DEBUG_FLAGS", "SQUEUE_ACCOUNT", "SQUEUE_ALL",
      "SQUEUE_ARRAY", "SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_LICENSES", "SQUEUE_NAMES",
      "SQUEUE_PARTITION", "SQUEUE_QOS", "SQUEUE_SORT", "SQUEUE_STATES", "SQUEUE_USERS", "SQUEUE_ARRAY_UNIQUE",
      "SQUEUE_PRIORITY", "SACCT_FEDERATION", "SACCT_LOCAL", "SACCT_FORMAT", "SCONTROL_ALL",
      "SCONTROL_FEDERATION", "SCONTROL_FUTURE", "SCONTROL_LOCAL", "SCONTROL_SIBLING", "SPRIO_FORMAT",
      "SPRIO_FEDERATION", "SPRIO_LOCAL", "SDIAG_ALL"};
  return kChanges;
}

// Times are seconds since the epoch in what these print. Where TZ is not set, the C library looks at
// /etc/localtime for each of them.
bool prints_only_seconds(const std::vector<std::string>& words) {
  return words.front() == "squeue" ||
         (words.front() == "scontrol" && std::find(words.begin(), words.end(), "show") != words.end());
}

struct Culprit {
  std::string_view words;  // in what Slurm says
  const char* who;
};
constexpr Culprit kSilent[] = {{"slurmdbd", "slurmdbd, which keeps the accounting,"},
                               {"slurm_persist_conn", "slurmdbd, which keeps the accounting,"},
                               {"PersistInit", "slurmdbd, which keeps the accounting,"},
                               {"talking to the database", "slurmdbd, which keeps the accounting,"},
                               {"Slurm accounting storage is disabled", "the accounting storage"},
                               {"accounting_storage", "slurmdbd, which keeps the accounting,"},
                               {"Unable to contact slurm controller", "slurmctld"},
                               {"Unable to contact the controller", "slurmctld"},
                               {"slurm_load_ctl_conf", "slurmctld"},
                               {"Socket timed out on send/recv operation", "slurmctld"},
                               {"Zero Bytes were transmitted or received", "slurmctld"},
                               {"Connection refused", "slurmctld"},
                               // Of one that is just ending, or has ended while it answered.
                               {"Unexpected message received", "slurmctld"},
                               {"Message receive failure", "slurmctld"},
                               {"Message send failure", "slurmctld"},
                               {"Communication connection failure", "slurmctld"},
                               {"Communication shutdown failure", "slurmctld"},
                               {"Connection reset by peer", "slurmctld"},
                               {"Header lengths are longer than data received", "slurmctld"},
                               {"backup controller in standby mode", "slurmctld"},
                               {"Unable to establish controller machine", "slurmctld"},
                               {"unable to find a controller", "slurmctld"}};
constexpr std::string_view kTokenWords[] = {"Protocol authentication error",
                                            "Invalid authentication credential", "munge", "oken expired",
                                            "auth_jwt"};

// The first line that says something, without "squeue: error: ".
std::string first_words(std::string_view complaint) {
  std::string_view first;
  for (std::string_view line : text::split(complaint, '\n')) {
    line = text::trim(line);
    if (line.empty()) continue;
    if (first.empty() || line.find("error: ") != std::string_view::npos) {
      const bool better = first.find("error: ") == std::string_view::npos;
      if (first.empty() || better) first = line;
    }
  }
  // The caller says itself that a submission failed.
  for (const std::string_view mark : {"fatal: ", "error: ", "Batch job submission failed: "}) {
    if (const size_t at = first.find(mark); at != std::string_view::npos)
      first.remove_prefix(at + mark.size());
  }
  return std::string(first.substr(0, 300));
}

// Of sbatch, which says what is wrong in a line, and as what slurmctld refuses it in the next: "Invalid
// partition name specified (invalid partition specified: nowhere)".
std::string refusal_of(std::string_view complaint) {
  std::string refusal, why;
  for (std::string_view line : text::split(complaint, '\n')) {
    const size_t error = line.find("error: ");
    if (error == std::string_view::npos) continue;
    line = text::trim(line.substr(error + 7));
    const size_t colon = line.find(": ");
    if (line.starts_with("Batch job submission failed: ") || line.starts_with("allocation failure: ")) {
      refusal = line.substr(colon + 2, 300);
    } else if (why.empty()) {
      why = line.substr(0, 300);
    }
  }
  return why.empty() || refusal.empty() ? refusal : refusal + " (" + why + ")";
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

Error error_of(const std::string& name, int exit_code, std::string_view complaint) {
  std::string said = first_words(complaint);
  if (contains(complaint, "Invalid job id specified"))
    return {model::kInvalidJobId, std::string(model::slurm_error_text(model::kInvalidJobId))};
  if (said.empty()) return {0, name + " ended with exit code " + std::to_string(exit_code)};
  // One that takes no tokens hangs up.
  const std::string token = token_complaint();
  const bool hung_up = contains(complaint, "Zero Bytes were transmitted or received") ||
                       contains(complaint, "Failed to unpack SLURM_PERSIST_INIT message");
  if (!token.empty() && hung_up)
    return {EACCES, "Slurm does not believe who asks: " + token + " (" + said + ")"};
  for (const std::string_view word : kTokenWords) {
    if (!contains(complaint, word)) continue;
    if (!token.empty()) return {EACCES, "Slurm does not believe who asks: " + token + " (" + said + ")"};
    return {EACCES,
            "Slurm does not believe who asks (munge: its key, or a clock that is wrong; or a token "
            "that has run out): " +
                said};
  }
  // As Slurm's own commands say it: what may not be seen or done is no matter of the command.
  if (said.ends_with("Access/permission denied"))
    return {model::kAccessDenied, std::string(model::slurm_error_text(model::kAccessDenied))};
  if (contains(complaint, "I/O error writing script/environment to file"))
    return {EIO, "slurmctld cannot write to the disk that has its state, which may be full (" + name + ": " +
                     said + ")"};
  for (const Culprit& one : kSilent) {
    if (!contains(complaint, one.words)) continue;
    return {ECONNREFUSED, std::string(one.who) + " does not answer (" + name + ": " + said + ")"};
  }
  // The caller says itself that a submission failed.
  if (const std::string refusal = refusal_of(complaint); !refusal.empty()) return {0, refusal};
  return {0, name + ": " + said};
}

std::string unguessed_mark() {
  constexpr std::string_view kLetters = "\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17";
  std::string mark;
  for (const char byte : os::random_key())
    mark += kLetters[static_cast<unsigned char>(byte) % kLetters.size()];
  return mark;
}

bool Programs::has(const std::string& name) const {
  return ::access((place_.directory + "/" + name).c_str(), X_OK) == 0;
}

Status Programs::run(std::vector<std::string> words, const Read& read) const {
  const std::string name = words.front();
  std::vector<std::string> changes = environment();
  if (prints_only_seconds(words)) changes.emplace_back("TZ=UTC");
  words.front() = place_.directory + "/" + name;
  if (!has(name)) return failure("this cluster has no " + name + " in " + place_.directory, ENOENT);
  if (!place_.cluster.empty() && name != "sacctmgr")  // which knows all clusters, and has no such option
    words.insert(words.begin() + 1, "--clusters=" + place_.cluster);
  auto output = os::ProgramOutput::start(
      words, {.timeout = kPatience, .most_bytes = kMostBytes, .environment = std::move(changes)});
  if (!output) return failure(output.error());
  const Status taken = read(*output);
  if (!taken && (taken.error().code == ETIMEDOUT || taken.error().code == EFBIG)) return taken;
  // Why it could not be read may be what the program complains of, which comes at its end.
  char rest[4096];
  for (size_t passed_over = 0;;) {
    const auto got = output->read(rest, sizeof rest);
    if (!got) return taken ? Status(failure(got.error())) : taken;
    if (*got == 0) break;
    if ((passed_over += *got) > kMostPassedOver) return taken;
  }
  const auto ended = output->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code != 0) return failure(error_of(name, ended->exit_code, ended->complaint));
  return taken;
}

Result<Programs::Said> Programs::submit(std::vector<std::string> words, int input,
                                        std::vector<std::string> environment) const {
  const std::string name = words.front();
  if (!has(name)) return failure("this cluster has no " + name + " in " + place_.directory, ENOENT);
  words.front() = place_.directory + "/" + name;
  if (!place_.cluster.empty()) words.insert(words.begin() + 1, "--clusters=" + place_.cluster);
  auto output = os::ProgramOutput::start(words, {.timeout = kPatience,
                                                 .most_bytes = kLongestLine,
                                                 .environment = std::move(environment),
                                                 .only_environment = true,
                                                 .input = input});
  if (!output) return failure(output.error());
  Said said;
  char buffer[4096];
  for (;;) {
    const auto got = output->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    said.output.append(buffer, *got);
  }
  auto ended = output->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code != 0) return failure(error_of(name, ended->exit_code, ended->complaint));
  said.complaint = std::move(ended->complaint);
  return said;
}

Status Programs::lines(std::vector<std::string> words,
                       const std::function<Status(std::string_view)>& take) const {
  return run(std::move(words), [&](os::ProgramOutput& output) -> Status {
    std::string kept;
    char buffer[size_t{64} << 10];
    for (;;) {
      const auto got = output.read(buffer, sizeof buffer);
      if (!got) return failure(got.error());
      if (*got == 0) break;
      std::string_view rest(buffer, *got);
      for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        kept.append(rest.substr(0, end));
        if (const Status taken = take(kept); !taken) return taken;
        kept.clear();
        rest.remove_prefix(end + 1);
      }
      kept.append(rest);
      if (kept.size() > kLongestLine) return failure("a line of more than 1 MiB", EFBIG);
    }
    return kept.empty() ? Status() : take(kept);
  });
}

Result<std::string> Programs::text(std::vector<std::string> words) const {
  std::string all;
  const Status done = lines(std::move(words), [&](std::string_view line) -> Status {
    if (all.size() + line.size() > kLongestText) return failure("an answer of more than 64 MiB", EFBIG);
    all.append(line).append(1, '\n');
    return {};
  });
  if (!done) return failure(done.error());
  return all;
}

}  // namespace minke::engine::slurm
