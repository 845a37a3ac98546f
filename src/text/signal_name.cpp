#include "text/signal_name.h"

#include <csignal>

#include "model/job_terms.pb.h"
#include "text/number.h"

namespace minke::text {
namespace {

constexpr uint32_t kLastSignal = 64;
constexpr uint32_t kDefaultSeconds = 60;
constexpr uint32_t kMaxSeconds = 65535;

struct SignalRow {
  uint32_t number;
  std::string_view name;
};
constexpr SignalRow kSignals[] = {
    {SIGHUP, "HUP"},   {SIGINT, "INT"},     {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},   {SIGTRAP, "TRAP"},
    {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},     {SIGFPE, "FPE"},   {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},
    {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},   {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},
    {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"},   {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"}, {SIGTTIN, "TTIN"},
    {SIGTTOU, "TTOU"}, {SIGURG, "URG"},     {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"},
    {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"}, {SIGIO, "IO"},     {SIGPWR, "PWR"},   {SIGSYS, "SYS"},
};

constexpr uint32_t kNoSignal = 65535;

bool is_other_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto number = parse_unsigned(text, kMaxSeconds);
  return number && *number != 0;
}

}  // namespace

std::optional<uint32_t> parse_signal(std::string_view text) {
  text = trim(text);
  if (auto number = parse_unsigned(text, kLastSignal)) {
    if (*number == 0) return std::nullopt;
    return static_cast<uint32_t>(*number);
  }
  if (starts_with_ignoring_case(text, "SIG")) text.remove_prefix(3);
  for (const SignalRow& row : kSignals) {
    if (equals_ignoring_case(row.name, text)) return row.number;
  }
  return std::nullopt;
}

std::string signal_name(uint32_t number) {
  for (const SignalRow& row : kSignals) {
    if (row.number == number) return std::string(row.name);
  }
  return std::to_string(number);
}

Result<model::WarningSignal> parse_warning_signal(std::string_view text) {
  auto invalid = [&] { return failure("Invalid --signal specification"); };
  model::WarningSignal warning;
  std::string_view rest = text;
  if (size_t colon = rest.find(':'); colon != std::string_view::npos) {
    if (colon == 0) return invalid();
    for (char c : rest.substr(0, colon)) {
      if (to_upper(c) == 'B' && !warning.batch_only()) {
        warning.set_batch_only(true);
      } else if (to_upper(c) == 'R') {
        warning.set_reservation(true);
      } else {
        return invalid();
      }
    }
    rest.remove_prefix(colon + 1);
  }
  size_t at = rest.find('@');
  auto number = parse_signal(rest.substr(0, at));
  // Slurm takes any number, also of a signal that there is not.
  if (!number && is_other_number(trim(rest.substr(0, at)))) number = kNoSignal;
  if (!number) return invalid();
  warning.set_number(*number);
  warning.set_seconds_before_end(kDefaultSeconds);
  if (at != std::string_view::npos) {
    const std::string_view given = skip_blanks_and_plus(rest.substr(at + 1));
    const auto seconds = given.empty() ? std::optional<uint64_t>(0) : parse_unsigned(given, kMaxSeconds);
    if (!seconds) return invalid();
    warning.set_seconds_before_end(static_cast<uint32_t>(*seconds));
  }
  return warning;
}

std::string format_warning_signal(const model::WarningSignal& warning) {
  std::string out;
  if (warning.reservation()) out += 'R';
  if (warning.batch_only()) out += 'B';
  if (!out.empty()) out += ':';
  return out + signal_name(warning.number()) + "@" + std::to_string(warning.seconds_before_end());
}

}  // namespace minke::text
