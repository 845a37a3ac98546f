#include "submit/setters.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>

#include "model/job_terms.pb.h"
#include "text/array_spec.h"
#include "text/dependency.h"
#include "text/duration.h"
#include "text/mail_address.h"
#include "text/mail_type.h"
#include "text/signal_name.h"
#include "text/timestamp.h"

namespace minke::submit::set {
namespace {

constexpr int64_t kMaxNice = 2147483645;
constexpr int32_t kDefaultNice = 100;

std::string absolute(const Assignment& to, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  std::string out = to.invocation.working_directory;
  if (!out.ends_with('/')) out += '/';
  return out.append(path);
}

// Slurm's "none" stands for no file at all.
std::string stream_path(std::string_view text) {
  return text::equals_ignoring_case(text, "none") ? "/dev/null" : std::string(text);
}

// "-5": Slurm takes it for days, of which its 32 bits make a limit of thousands of years; "-0" is none.
std::optional<uint32_t> negative_days(const Assignment& to) {
  constexpr uint64_t kMostDays = 1'000'000, kMinutesOfDay = 1440;
  if (!to.text().starts_with('-') || to.text() == "-1") return std::nullopt;
  const auto days = text::parse_unsigned(to.text().substr(1), kMostDays);
  if (!days) return std::nullopt;
  if (*days == 0) return text::kUnlimited;
  const auto minutes = static_cast<uint32_t>((uint64_t{1} << 32) + 1 - *days * kMinutesOfDay);
  to.request.notes.push_back("warning: --" + std::string(to.option.name) + "=" + std::string(to.text()) +
                             " is read as " + text::format_minutes(minutes));
  return minutes;
}

Result<uint32_t> limit_minutes(const Assignment& to) {
  if (const auto minutes = negative_days(to)) return *minutes;
  auto minutes = text::parse_minutes(to.text());
  if (!minutes) return invalid(to);
  return *minutes == 0 ? text::kUnlimited
                       : *minutes;  // "A time limit of zero requests that no time limit be imposed"
}

// Reads a point in time. The message has a line about the mistake before Slurm's refusal.
Result<int64_t> moment(const Assignment& to) {
  auto time = text::parse_time(to.text(), to.invocation.now);
  if (to.invocation.release < kSlurm24 && text::equals_ignoring_case(to.text(), "elevenses"))
    time = failure("Invalid time specification (pos=0): " + std::string(to.text()));
  if (time) return *time;
  if (to.text().empty()) return invalid(to);
  return failure(time.error().message + "\n" + invalid(to).value().message, kUsageStatus);
}

}  // namespace

tl::unexpected<Error> rejected(const Assignment& to, std::string_view reason) {
  std::string_view before = to.invocation.command == Command::kSbatch   ? "Batch job submission failed: "
                            : to.invocation.command == Command::kSalloc ? "Job submit/allocate failed: "
                                                                        : "Unable to allocate resources: ";
  return failure(std::string(before).append(reason), kFailureStatus);
}

tl::unexpected<Error> invalid(const Assignment& to) {
  return failure("Invalid --" + std::string(to.option.name) + " specification", kUsageStatus);
}

Result<std::string> read_file(const Assignment& to) {
  if (!to.invocation.read_file) return failure("No such file or directory");
  return to.invocation.read_file(absolute(to, to.text()));
}

tl::unexpected<Error> too_large(std::string_view given, std::string_view name) {
  std::string message = "Numeric argument (" + std::string(given) + ") too large for ";
  return failure(message.append(name).append("."), kFailureStatus);
}

tl::unexpected<Error> not_numeric(std::string_view given, std::string_view name) {
  std::string message = "Invalid numeric value \"" + std::string(given) + "\" for ";
  return failure(message.append(name).append("."), kFailureStatus);
}

Result<uint32_t> whole_number(const Assignment& to, uint32_t least) {
  // The name that Slurm's own message has.
  const std::string name = "--" + std::string(to.option.name == "resv-ports" ? "resv-port" : to.option.name);
  const std::string_view digits = text::skip_blanks_and_plus(to.text());
  auto value = text::parse_unsigned(digits, kMaxNumber);
  if (value.value_or(kMaxNumber) == kMaxNumber && text::is_digits(digits) &&
      to.invocation.release >= kSlurm24)
    return too_large(to.text(), name);
  if (!value || *value < least) return not_numeric(to.text(), name);
  return static_cast<uint32_t>(*value);
}

int64_t leading_number(const Assignment& to) {
  const std::string_view digits = text::skip_blanks_and_plus(to.text());
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool none = error == std::errc::invalid_argument || (digits.starts_with('-') && digits != to.text() &&
                                                             to.text().find('+') != std::string_view::npos);
  if (none) {
    value = 0;
  } else if (error != std::errc()) {
    value = digits.starts_with('-') ? INT64_MIN : INT64_MAX;
  }
  if (none || end != digits.data() + digits.size()) {
    to.request.notes.push_back("warning: --" + std::string(to.option.name) + "=" + std::string(to.text()) +
                               " is read as " + std::to_string(value));
  }
  return value;
}

Status array(const Assignment& to) {
  to.request.spec.clear_array();
  if (to.text().empty()) return {};  // no array, as in Slurm
  auto array = text::parse_array_spec(to.text());
  if (!array) return rejected(to, array.error().message);
  *to.request.spec.mutable_array() = std::move(*array);
  return {};
}

Status begin(const Assignment& to) {
  auto time = moment(to);
  if (!time) return failure(time.error());
  to.request.spec.set_begin_time(std::max<int64_t>(*time, 0));  // before 1970: at once
  return {};
}

Status deadline(const Assignment& to) {
  auto time = moment(to);
  if (!time) return failure(time.error());
  to.request.spec.set_deadline(*time);
  return {};
}

Status bell(const Assignment& to) {
  to.request.bell = true;
  return {};
}
Status no_bell(const Assignment& to) {
  to.request.bell = false;
  return {};
}

Status burst_buffer_file(const Assignment& to) {
  auto content = read_file(to);
  if (!content) return failure("Invalid --bbf specification", kFailureStatus);
  // As in Slurm it goes into the script, behind the line that names the interpreter.
  if (std::string& script = to.request.script; !script.empty()) {
    if (!content->ends_with('\n')) *content += '\n';
    script.insert(std::min(script.size(), script.find('\n') + 1), *content);
  }
  to.request.spec.set_burst_buffer(std::move(*content));
  return {};
}

Status chdir(const Assignment& to) {
  to.request.spec.set_work_dir(absolute(to, to.text()));
  return {};
}

Status clusters(const Assignment& to) {
  to.request.clusters = std::string(to.text());
  return {};
}

namespace {
// Whether a list in brackets has "&" between features of which some have no count.
bool has_uncounted(std::string_view features) {
  const size_t begin = features.find('['), end = features.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return false;
  const std::string_view list = features.substr(begin + 1, end - begin - 1);
  bool joined = false, uncounted = false, counted = false;
  int depth = 0;
  const auto close = [&] {
    uncounted |= !counted;
    counted = false;
  };
  for (const char letter : list) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    counted |= depth == 0 && letter == '*';
    if (depth != 0 || letter != '&') continue;
    joined = true;
    close();
  }
  close();
  return joined && uncounted && list.find('|') == std::string_view::npos;
}
// Whether a count of nodes stands beside other features without brackets, which Slurm took until 22.05.
bool has_bare_count(std::string_view features) {
  if (features.find_first_of("&|,()") == std::string_view::npos) return false;
  bool in_brackets = false;
  for (const char letter : features) {
    if (letter == '[' || letter == ']') in_brackets = letter == '[';
    if (letter == '*' && !in_brackets) return true;
  }
  return false;
}
}  // namespace

Status constraint(const Assignment& to) {
  std::string features(to.text());
  std::replace(features.begin(), features.end(), ',', '&');  // Slurm treats a comma as "&"
  if (to.invocation.release >= kSlurm24 && has_bare_count(features))
    return rejected(to, "Invalid feature specification (--constraint=" + features +
                            ": put counts of nodes in brackets, as in \"[fast*2&slow*1]\")");
  if (to.invocation.release >= kSlurm26 && has_uncounted(features))
    return rejected(to, "Invalid feature specification (--constraint=" + features +
                            ": each feature between the brackets needs its count)");
  to.request.spec.set_constraint(std::move(features));
  return {};
}

Status delay_boot(const Assignment& to) {
  // A negative time is as good as none: nodes are not booted here.
  std::string_view given = to.text();
  const bool negative = given.starts_with('-') && given != "-1";
  if (negative) given.remove_prefix(1);
  auto minutes = text::parse_minutes(given);
  if (!minutes) return invalid(to);
  if (negative) minutes = text::kUnlimited;
  to.request.spec.set_delay_boot_minutes(*minutes);
  return {};
}

Status dependency(const Assignment& to) {
  auto list = text::parse_dependencies(to.text());
  if (!list && text::starts_with_ignoring_case(to.text(), "expand:"))
    return rejected(to, "Requested operation not supported on this system");
  if (!list) return rejected(to, list.error().message);
  // "and" beside "or"
  if (to.invocation.release >= kSlurm26 && to.text().find(',') != std::string_view::npos &&
      to.text().find('?') != std::string_view::npos)
    return rejected(to, "Job dependency problem");
  to.request.spec.mutable_dependencies()->Assign(list->terms.begin(), list->terms.end());
  to.request.spec.set_dependency_any(list->any);
  return {};
}

Status export_list(const Assignment& to) {
  // ALL is the default.
  bool all = text::equals_ignoring_case(to.text(), "all");
  to.request.spec.set_export_option(all ? std::string() : std::string(to.text()));
  return {};
}

Status export_file(const Assignment& to) {
  if (to.text().empty()) return failure("Could not open user environment file ", kFailureStatus);
  to.request.export_file = to.text();
  return {};
}

Status get_user_env(const Assignment& to) {
  if (to.invocation.command == Command::kSalloc && to.invocation.release >= kSlurm24)
    return failure("unrecognized option '--get-user-env" +
                       (to.text().empty() ? std::string() : "=" + std::string(to.text())) + "'",
                   kWordStatus);
  const auto given = to.request.given.find("get-user-env");
  const bool by_variable = given != to.request.given.end() && given->second == Source::kEnvironment;
  if (!to.text().empty() && to.invocation.release >= kSlurm26 && !by_variable)
    return failure("option '--get-user-env' doesn't allow an argument", kWordStatus);
  std::string_view value = to.text();  // [timeout][S|L]
  to.request.user_env_without_login = false;
  if (!value.empty() && (text::to_upper(value.back()) == 'S' || text::to_upper(value.back()) == 'L')) {
    to.request.user_env_without_login = text::to_upper(value.back()) == 'S';
    value.remove_suffix(1);
  }
  if (!value.empty()) {
    auto seconds = text::parse_unsigned(value, kMaxNumber);
    if (!seconds) return invalid(to);
    if (*seconds != 0) to.request.user_env_seconds = static_cast<uint32_t>(*seconds);
  }
  to.request.spec.set_get_user_env(true);
  return {};
}

Status immediate(const Assignment& to) {
  uint32_t seconds = 1;
  if (!to.text().empty()) {
    auto value = text::parse_unsigned(to.text(), kMaxNumber);
    if (!value && text::is_digits(to.text()) && to.invocation.release >= kSlurm24)
      return too_large(to.text(), "immediate");
    if (!value) return not_numeric(to.text(), "immediate");
    seconds = static_cast<uint32_t>(*value);
  }
  to.request.immediate_seconds = seconds;
  return {};
}

Status kill_command(const Assignment& to) {
  auto number = text::parse_signal(to.text().empty() ? "TERM" : to.text());
  // Slurm takes any number but 0; of those that are no signal nothing would come.
  if (const int64_t given = number ? 1 : std::strtoll(std::string(to.text()).c_str(), nullptr, 10);
      given != 0 && !number)
    number = SIGTERM;
  if (!number) return invalid(to);
  to.request.kill_command_signal = *number;
  return {};
}

Status kill_on_invalid_dependency(const Assignment& to) {
  bool yes = text::equals_ignoring_case(to.text(), "yes");
  if (!yes && !text::equals_ignoring_case(to.text(), "no")) return invalid(to);
  to.request.spec.set_kill_on_invalid_dependency(yes);
  return {};
}

Status mail_type(const Assignment& to) {
  // Until 25.11 each time that the option is given adds to the earlier ones. NONE in a list clears that list.
  std::string kept = to.request.spec.mail_type() == "NONE" ? std::string() : to.request.spec.mail_type();
  if (to.invocation.release >= kSlurm26) kept.clear();
  std::string added;
  bool any = false, none = false;
  for (std::string_view word : text::split(to.text(), ',')) {
    word = text::trim(word);
    if (!text::is_mail_type(word))
      continue;  // Slurm drops unknown words where a known one stands beside them
    any = true;
    none |= text::equals_ignoring_case(word, "NONE");
    added += (added.empty() ? "" : ",") + text::upper_case(word);
  }
  if (!any) return invalid(to);
  if (!none) kept += (kept.empty() ? "" : ",") + added;
  if (kept.empty()) kept = "NONE";
  to.request.spec.set_mail_type(kept);
  return {};
}

Status mail_user(const Assignment& to) {
  if (const Status harmless = text::check_mail_user(to.text()); !harmless)
    return failure("--mail-user: " + harmless.error().message, kFailureStatus);
  to.request.spec.set_mail_user(std::string(to.text()));
  return {};
}

Status nice(const Assignment& to) {
  if (to.text().empty()) {
    to.request.spec.set_nice(kDefaultNice);
    return {};
  }
  const int64_t value = leading_number(to);
  if (value < -kMaxNice || value > kMaxNice) {
    return failure("Invalid --nice value, out of range (+/- 2147483645)", kUsageStatus);
  }
  to.request.spec.set_nice(static_cast<int32_t>(value));
  return {};
}

Status no_kill(const Assignment& to) {
  if (!to.text().empty() && to.text() != "set" && !text::equals_ignoring_case(to.text(), "off"))
    return invalid(to);
  to.request.spec.set_no_kill(!text::equals_ignoring_case(to.text(), "off"));
  return {};
}

Status requeue(const Assignment& to) {
  if (!to.text().empty() && to.text() != "expedite") return invalid(to);
  to.request.spec.set_requeue(true);
  to.request.spec.set_expedited_requeue(to.text() == "expedite");
  return {};
}

Status oom_kill_step(const Assignment& to) {
  auto value = to.text().empty() ? std::optional<uint64_t>(1) : text::parse_unsigned(to.text(), 1);
  if (!value) return invalid(to);
  to.request.spec.set_oom_kill_step(*value == 1);
  return {};
}

Status open_mode(const Assignment& to) {
  char mode = to.text().empty() ? '\0' : text::to_lower(to.text()[0]);
  if (mode != 'a' && mode != 't') return invalid(to);
  to.request.spec.set_open_mode(mode == 'a' ? model::OPEN_APPEND : model::OPEN_TRUNCATE);
  return {};
}

namespace {
Status only_oneself(const Assignment& to, const std::function<bool(std::string_view)>& is_own) {
  if (to.invocation.command != Command::kSbatch && to.invocation.release >= kSlurm24)
    return failure(
        "unrecognized option '--" + std::string(to.option.name) + "=" + std::string(to.text()) + "'",
        kWordStatus);
  if (is_own && is_own(to.text())) return {};
  std::string message = "--" + std::string(to.option.name) + "=" + std::string(to.text());
  return failure(message.append(": a job runs as whoever submits it"), kFailureStatus);
}
}  // namespace

Status own_group(const Assignment& to) {
  return only_oneself(to, to.invocation.is_own_group);
}
Status own_user(const Assignment& to) {
  return only_oneself(to, to.invocation.is_own_user);
}

// A leading asterisk marks a user's default in listings: no key has one.
Status wckey(const Assignment& to) {
  if (to.text().starts_with('*') && to.invocation.release >= kSlurm26)
    return rejected(to, "Invalid wckey specification");
  to.request.spec.set_wckey(std::string(to.text()));
  return {};
}

Status partition(const Assignment& to) {
  if (to.text().empty() && to.invocation.release >= kSlurm26) return {};
  if (to.text().empty()) {
    return failure("invalid partition specified: (null)\n" +
                       rejected(to, "Invalid partition name specified").value().message,
                   kFailureStatus);
  }
  to.request.spec.set_partition(std::string(to.text()));
  return {};
}

Status priority(const Assignment& to) {
  constexpr int64_t kMostPriority = 4294967293;
  if (text::equals_ignoring_case(to.text(), "top")) {
    to.request.spec.set_priority(kMostPriority);
    return {};
  }
  const int64_t value = leading_number(to);
  if (value < 0) return failure("Priority must be >= 0", kUsageStatus);
  if (value > kMostPriority)
    return failure("Priority must be < " + std::to_string(kMostPriority + 1), kUsageStatus);
  if (value == 0) {  // as if the option were not there
    to.request.spec.clear_priority();
    return {};
  }
  to.request.spec.set_priority(static_cast<uint32_t>(value));
  return {};
}

Status signal(const Assignment& to) {
  auto warning = text::parse_warning_signal(to.text());
  if (!warning) return invalid(to);
  if (warning->reservation() && to.invocation.release >= kSlurm24)
    return rejected(to, "Preemption is required but is disabled on this system");
  *to.request.spec.mutable_warning_signal() = *warning;
  return {};
}

Status stderr_path(const Assignment& to) {
  to.request.spec.set_stderr_path(stream_path(to.text()));
  return {};
}
Status stdin_path(const Assignment& to) {
  to.request.spec.set_stdin_path(stream_path(to.text()));
  return {};
}
Status stdout_path(const Assignment& to) {
  to.request.spec.set_stdout_path(stream_path(to.text()));
  return {};
}

Status time(const Assignment& to) {
  auto minutes = limit_minutes(to);
  if (!minutes) return failure(minutes.error());
  to.request.spec.set_time_limit_minutes(*minutes);
  return {};
}
Status time_min(const Assignment& to) {
  auto minutes = limit_minutes(to);
  if (!minutes) return failure(minutes.error());
  to.request.spec.set_time_min_minutes(*minutes);
  return {};
}

Status verbose(const Assignment& to) {
  // A variable gives the level: SBATCH_DEBUG=2 is -vv.
  auto level = text::parse_unsigned(to.text(), kMaxNumber);
  to.request.verbose = level ? static_cast<uint32_t>(*level) : to.request.verbose + 1;
  return {};
}

}  // namespace minke::submit::set
