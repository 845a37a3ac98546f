// The setters of srun's own options: in which job a step runs, and how its tasks begin, speak and end.
#include <algorithm>
#include <climits>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submit/setters.h"
#include "text/number.h"
#include "text/signal_name.h"

namespace minke::submit::set {
namespace {

constexpr uint64_t kMaxJob = 4294967293;

// A job behind whose number that of a task, a component or a step may stand: "7_1", "7+1", "7.0", "7.batch".
Result<uint32_t> selected_job(const Assignment& to) {
  const std::string_view given = text::skip_blanks_and_plus(to.text());
  const auto wrong = [&](std::string_view why) {
    return failure("fatal: Bad job/step specified: " + std::string(to.text()) + ": " + std::string(why),
                   kFailureStatus);
  };
  if (given.empty()) return wrong("JobID must not be an empty string");
  if (given.starts_with('-')) return wrong("JobID can not be a negative number");
  constexpr std::string_view kNotNumeric = "includes unexpected non-numeric characters";
  const size_t end = std::min(given.find_first_not_of("0123456789"), given.size());
  const std::string_view rest = given.substr(end);
  if (end == 0) return wrong("JobID can not be zero");  // no digits are none, too
  if (!rest.empty() && std::string_view("_+.").find(rest[0]) == std::string_view::npos)
    return wrong("JobID " + std::string(kNotNumeric));
  const auto value = text::parse_unsigned(given.substr(0, end), kMaxJob);
  if (!value) return wrong("JobID larger than acceptable range");
  if (*value == 0) return wrong("JobID can not be zero");
  if (const size_t dot = rest.find('.'); dot != std::string_view::npos) {
    const std::string_view step = rest.substr(dot + 1);
    const bool named = step == "batch" || step == "extern" || step == "interactive";
    if (!named && !text::parse_unsigned(step.substr(0, step.find('+')), kMaxJob))
      return wrong("StepID " + std::string(kNotNumeric));
  }
  return static_cast<uint32_t>(*value);
}

}  // namespace

Status job_id(const Assignment& to) {
  auto value = to.invocation.release >= kSlurm26 ? selected_job(to) : whole_number(to, 1);
  if (!value) return failure(value.error());
  to.request.job_id = *value;
  return {};
}

Status het_group(const Assignment& to) {
  // The reader has already settled which variables count.
  auto group = text::parse_unsigned(to.text(), kMaxNumber);
  auto size = text::parse_unsigned(to.invocation.variable("SLURM_HET_SIZE").value_or(""), kMaxNumber);
  if (!group && !to.text().starts_with('-') && to.text().find_first_of(",-") != std::string_view::npos) {
    return failure("--het-group=" + std::string(to.text()) +
                       ": a step runs in one component here; start one srun for each",
                   kFailureStatus);
  }
  if (!group && to.invocation.release >= kSlurm26)
    return failure("Invalid --het-group value: " + std::string(to.text()), kFailureStatus);
  if (!group) return invalid(to);
  // Outside of a job the daemon knows the components; without any, there is only one.
  if (!to.invocation.variable("SLURM_JOB_ID")) {
    if (to.invocation.release < kSlurm26 || to.request.is_given("jobid")) return {};
    return failure("--het-group expected to be used within an HetJob allocation", kFailureStatus);
  }
  if (*group >= size.value_or(1)) {
    return failure("Attempt to run a job step with het group value of " + std::string(to.text()) +
                       ", but the job allocation has maximum value of " +
                       std::to_string(size.value_or(1) - 1),
                   kFailureStatus);
  }
  return {};
}

Status external_launcher(const Assignment& to) {
  // The step of a launcher: it sees the whole job and takes nothing from other steps.
  to.request.overlap = true;
  return {};
}

Status ignore_signals(const Assignment& to) {
  constexpr std::string_view kIgnorable[] = {"INT",  "QUIT", "TERM", "CONT", "HUP",
                                             "ALRM", "USR1", "USR2", "PIPE"};
  constexpr std::string_view kNever[] = {"KILL", "STOP"};
  const auto is_in = [](const auto& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  std::vector<uint32_t> numbers;
  for (const std::string& word : text::split_list(to.text())) {
    if (word.empty()) continue;
    const auto number = text::parse_signal(word);
    const std::string name = number ? text::signal_name(*number) : "";
    if (is_in(kNever, name)) return failure("Signal " + word + " cannot be ignored", kFailureStatus);
    if (!is_in(kIgnorable, name)) return failure("Invalid signal name or number: " + word, kUsageStatus);
    numbers.push_back(*number);
  }
  if (numbers.empty()) return failure("--ignore-signals requires at least one signal", kUsageStatus);
  to.request.ignored_signals = std::move(numbers);
  return {};
}

Status pty(const Assignment& to) {
  to.request.pty = true;
  const bool from_variable = to.invocation.variable("SLURM_PTY") == to.value;  // any value turns it on
  if (!to.value || to.text().empty() || from_variable) return {};
  const auto descriptor = text::parse_unsigned(to.text(), UINT64_MAX);
  if (!descriptor)
    return failure("fatal: --pty=" + std::string(to.text()) + " must be numeric file descriptor",
                   kFailureStatus);
  to.request.terminal = static_cast<int>(std::min<uint64_t>(*descriptor, INT_MAX));
  return {};
}

Status kill_on_bad_exit(const Assignment& to) {
  uint32_t value = 1;
  if (!to.text().empty()) {
    auto parsed = whole_number(to, 0);
    if (!parsed) return failure(parsed.error());
    value = *parsed;
  }
  to.request.kill_on_bad_exit = value != 0;
  return {};
}

Status mpi(const Assignment& to) {
  std::string_view type = to.text();
  if (type.starts_with("pmix_v")) type = "pmix";
  for (const std::string_view known : {"none", "pmi2", "pmix", "list"}) {
    if (type == known) {
      to.request.mpi = type;
      return {};
    }
  }
  return failure("Invalid MPI type '" + std::string(to.text()) + "', --mpi=list for acceptable types",
                 kFailureStatus);
}

Status overlap(const Assignment& to) {
  to.request.overlap = true;  // old versions had an experimental argument
  return {};
}

Status wait_seconds(const Assignment& to) {
  to.request.wait_seconds = 0;
  if (to.text().empty()) return {};
  auto value = whole_number(to, 0);
  if (!value) return failure(value.error());
  to.request.wait_seconds = *value;
  return {};
}

}  // namespace minke::submit::set
