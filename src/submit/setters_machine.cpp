// The setters of options about how the machine runs a job: frequencies, binding, sampling, limits, ports,
// switches. Slurm's checks apply to them, and the job keeps them.
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submit/setters.h"
#include "text/cpu_bind.h"
#include "text/cpu_frequency.h"
#include "text/duration.h"
#include "text/mem_bind.h"

namespace minke::submit::set {
namespace {
bool is_any(std::string_view word, std::initializer_list<std::string_view> known) {
  return std::any_of(known.begin(), known.end(),
                     [&](std::string_view candidate) { return text::equals_ignoring_case(word, candidate); });
}

// Whether Slurm knows the words for binding and frequency of GPUs, each up to its first ':' or '='.
bool are_known(std::string_view list, std::initializer_list<std::string_view> known) {
  const auto words = text::split(list, ',');
  return std::all_of(words.begin(), words.end(), [&](std::string_view word) {
    return is_any(word.substr(0, word.find_first_of(":=")), known);
  });
}
}  // namespace

Status acctg_freq(const Assignment& to) {
  // "30", or "task=30,energy=0,network=60,filesystem=5"; nothing leaves it as it is.
  if (to.text().empty()) return {};
  for (std::string_view word : text::split(to.text(), ',')) {
    size_t equals = word.find('=');
    std::string_view type = equals == std::string_view::npos ? "task" : word.substr(0, equals);
    std::string_view seconds = equals == std::string_view::npos ? word : word.substr(equals + 1);
    if (!is_any(type, {"task", "energy", "network", "filesystem"}) ||
        !text::parse_unsigned(seconds, kMaxNumber)) {
      return failure("Invalid --acctg-freq specification: " + std::string(word), kUsageStatus);
    }
  }
  to.request.spec.set_acctg_freq(std::string(to.text()));
  return {};
}

// What newer releases say of a governor: those that CpuFreqGovernors has by itself are allowed, and a range
// needs one. Nothing: it is right, or no governor.
std::optional<std::string> governor_mistake(std::string_view first, bool is_range, std::string_view given) {
  const size_t colon = given.find(':');
  const bool has_governor = colon != std::string_view::npos;
  const std::string_view governor = has_governor ? given.substr(colon + 1) : first;
  for (const std::string_view name : {"conservative", "powersave", "schedutil"}) {
    if (text::equals_ignoring_case(governor, name))
      return "governor of " + std::string(governor) + " is not allowed in slurm.conf";
  }
  if (has_governor && governor.empty()) return "illegal governor:  on --cpu-freq";
  constexpr std::string_view kOneValue =
      "Please specify only one value for the desired frequency (p1) or choose a ";
  if (is_range && !has_governor)
    return "You must explicitly choose a governor when defining a range. " + std::string(kOneValue) +
           "specific governor (p3).";
  if (is_range && text::equals_ignoring_case(governor, "userspace"))
    return "userspace governor does not support a range. " + std::string(kOneValue) + "different governor.";
  return std::nullopt;
}

Status cpu_bind(const Assignment& to) {
  if (to.text() == "help")
    return failure(
        "CPU bind options:\n"
        "    --cpu-bind=         Bind tasks to CPUs\n"
        "        q[uiet]         quietly bind before task runs (default)\n"
        "        v[erbose]       verbosely report binding before task runs\n"
        "        no[ne]          don't bind tasks to CPUs (default)\n"
        "        map_cpu:<list>  specify a CPU ID binding for each task\n"
        "                        where <list> is <cpuid1>,<cpuid2>,...<cpuidN>\n"
        "        mask_cpu:<list> specify a CPU ID binding mask for each task\n"
        "                        where <list> is <mask1>,<mask2>,...<maskN>\n"
        "        rank_ldom       bind task by rank to CPUs in a NUMA locality domain\n"
        "        map_ldom:<list> specify a NUMA locality domain ID for each task\n"
        "                        where <list> is <ldom1>,<ldom2>,...<ldomN>\n"
        "        mask_ldom:<list>specify a NUMA locality domain ID mask for each task\n"
        "                        where <list> is <mask1>,<mask2>,...<maskN>\n"
        "        sockets         auto-generated masks bind to sockets\n"
        "        cores           auto-generated masks bind to cores\n"
        "        threads         auto-generated masks bind to threads\n"
        "        ldoms           auto-generated masks bind to NUMA locality domains\n"
        "        help            show this help message\n",
        kHelpStatus);
  if (to.text().empty())
    return failure("unrecognized --cpu-bind argument \"\"\nfatal: Failed to parse --cpu-bind= values.",
                   kFailureStatus);
  if (const auto bind = text::parse_cpu_bind(to.text()); !bind)
    return failure(bind.error().message + "\nfatal: Failed to parse --cpu-bind= values.", kFailureStatus);
  if (text::equals_ignoring_case(to.text(), "rank") && to.invocation.release >= kSlurm24)
    to.request.notes.push_back("Ignoring --cpu-bind=rank. Rank binding is obsolete.");
  to.request.spec.set_cpu_bind(std::string(to.text()));
  return {};
}

// p1[-p2][:p3]: kHz or a step, and a governor.
Status cpu_freq(const Assignment& to) {
  std::string_view range = to.text(), governor;
  if (size_t colon = range.find(':'); colon != std::string_view::npos) {
    governor = range.substr(colon + 1);
    range = range.substr(0, colon);
  }
  size_t dash = range.find('-');
  std::string_view first = range.substr(0, dash);
  bool good = text::cpu_frequency_number(first) != 0 || (text::governor_number(first).has_value() &&
                                                         dash == std::string_view::npos && governor.empty());
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  if (dash != std::string_view::npos) good = good && text::cpu_frequency_number(last) != 0;
  if (!governor.empty()) good = good && text::governor_number(governor).has_value();
  if (first.empty() && dash != std::string_view::npos) {
    if (to.invocation.release >= kSlurm24) return failure("Invalid --cpu-freq argument", kUsageStatus);
    return failure("unrecognized --cpu-freq argument \"\"\nInvalid --cpu-freq argument", kUsageStatus);
  }
  if (to.invocation.release >= kSlurm26) {
    if (const auto wrong = governor_mistake(first, dash != std::string_view::npos, to.text()))
      return failure(*wrong + "\nInvalid --cpu-freq argument", kUsageStatus);
  }
  if (to.text().empty() && to.invocation.release >= kSlurm26)
    return failure("Invalid --cpu-freq argument", kUsageStatus);
  if (!good) {
    return failure(
        "unrecognized --cpu-freq argument \"" + std::string(to.text()) + "\"\nInvalid --cpu-freq argument",
        kUsageStatus);
  }
  if (text::cpu_frequency_number(last) < text::cpu_frequency_number(first)) {
    return failure("min cpu-frec (" + std::string(first) + ") must be < max cpu-freq (" + std::string(last) +
                       ")\nInvalid --cpu-freq argument",
                   kUsageStatus);
  }
  to.request.spec.set_cpu_freq(std::string(to.text()));
  return {};
}

Status gpu_bind(const Assignment& to) {
  // [verbose,]<closest|map:…|mask:…|none|per_task:n|single:n>; the numbers of map and mask hold commas.
  std::string_view mode = to.text();
  for (std::string_view prefix : {"verbose,", "v,"}) {
    if (prefix == "v," && to.invocation.release >= kSlurm26) continue;
    if (text::starts_with_ignoring_case(mode, prefix)) mode.remove_prefix(prefix.size());
  }
  const std::string_view given = mode;
  const size_t colon = std::min(mode.find(':'), mode.size());
  const std::string_view numbers = mode.substr(std::min(colon + 1, mode.size()));
  mode = mode.substr(0, colon);
  if (text::starts_with_ignoring_case(mode, "map") || text::starts_with_ignoring_case(mode, "mask")) {
    const bool mask = text::starts_with_ignoring_case(mode, "mask");
    for (const std::string_view item : text::split(numbers, ',')) {
      std::string_view digits = item;
      const bool hexadecimal = text::starts_with_ignoring_case(digits, "0x");
      if (hexadecimal) digits.remove_prefix(2);
      const size_t bad =
          digits.find_first_not_of(mask || hexadecimal ? "0123456789abcdefABCDEF*" : "0123456789*");
      if (bad == std::string_view::npos) continue;
      return failure("Failed to validate " + std::string(item) + ", offending character is " + digits[bad] +
                         "\nInvalid --gpu-bind argument: " +
                         (to.invocation.release < kSlurm24 ? "gpu:" : "") + std::string(to.text()),
                     kUsageStatus);
    }
  }
  const bool old = to.invocation.release < kSlurm24;
  const bool counted = are_known(mode, {"map_gpu", "mask_gpu", "per_task", "single"}) ||
                       (!old && are_known(mode, {"map", "mask"}));
  const bool has_colon = colon < given.size();
  if (counted ? !has_colon : !are_known(mode, {"closest", "none"})) {
    return failure(
        std::string("Invalid --gpu-bind argument: ") + (old ? "gpu:" : "") + std::string(to.text()),
        kUsageStatus);
  }
  to.request.spec.set_gpu_bind(std::string(to.text()));
  return {};
}

bool is_tres_bind(std::string_view text) {
  const auto is_binding = [](std::string_view one) {
    constexpr std::string_view kKind = "gres/";
    if (!text::starts_with_ignoring_case(one, kKind)) return false;
    const size_t end = one.find(':');
    if (end == std::string_view::npos || end == kKind.size()) return false;
    std::string_view mode = one.substr(end + 1);
    if (text::starts_with_ignoring_case(mode, "verbose,")) mode.remove_prefix(8);
    const size_t colon = std::min(mode.find(':'), mode.size());
    const bool counted = are_known(mode.substr(0, colon), {"map", "mask", "per_task", "single"});
    return counted ? colon + 1 < mode.size() : are_known(mode, {"closest", "none"});
  };
  const auto all = text::split(text, '+');
  return std::all_of(all.begin(), all.end(), is_binding);
}

Status tres_bind(const Assignment& to) {
  if (to.invocation.release >= kSlurm24 && !to.text().empty() && !is_tres_bind(to.text()))
    return rejected(to,
                    "Invalid Trackable RESource (TRES) specification (--tres-bind=" + std::string(to.text()) +
                        ": write gres/gpu:closest, :single:N, :per_task:N, :map:… or :mask:…)");
  to.request.spec.set_tres_bind(std::string(to.text()));
  return {};
}

Status gpu_freq(const Assignment& to) {
  for (std::string_view word : text::split(to.text(), ',')) {
    if (text::starts_with_ignoring_case(word, "memory=")) word.remove_prefix(7);
    if (are_known(word, {"low", "medium", "high", "highm1", "verbose"}) ||
        text::parse_unsigned(word, kMaxNumber)) {
      continue;
    }
    return failure("Invalid --gpu-freq argument: gpu:" + std::string(to.text()), kUsageStatus);
  }
  to.request.spec.set_gpu_freq(std::string(to.text()));
  return {};
}

namespace {
// What newer releases refuse of words that they know.
std::optional<std::string> gres_flags_mistake(const Assignment& to) {
  const auto has = [&](std::string_view wanted) {
    for (const std::string_view word : text::split(to.text(), ','))
      if (text::equals_ignoring_case(word, wanted)) return true;
    return false;
  };
  if (has("one-task-per-sharing"))
    return "In order to use --gres-flags=one-task-per-sharing you must also have "
           "SelectTypeParameters=MULTIPLE_SHARING_GRES_PJ in your slurm.conf";
  if (has("allow-task-sharing") && to.invocation.command != Command::kSrun)
    return "--gres-flags=allow-task-sharing is only used with srun.";
  if (has("disable-binding") && has("enforce-binding"))
    return "Invalid --gres-flags combo: disable-binding and enforce-binding are mutually exclusive.";
  return std::nullopt;
}
}  // namespace

Status gres_flags(const Assignment& to) {
  if (to.text().empty() && to.invocation.release >= kSlurm26) return {};
  if (!are_known(to.text(), {"disable-binding", "enforce-binding", "allow-task-sharing",
                             "multiple-tasks-per-sharing", "one-task-per-sharing"})) {
    if (to.invocation.release < kSlurm24) return invalid(to);
    return failure("Invalid --gres-flags specification: " + std::string(to.text()), kUsageStatus);
  }
  if (to.invocation.release >= kSlurm26) {
    if (const auto mistake = gres_flags_mistake(to)) return failure(*mistake, kUsageStatus);
  }
  to.request.spec.set_gres_flags(text::lower_case(to.text()));
  return {};
}

Status profile(const Assignment& to) {
  if (!are_known(to.text(), {"none", "all", "energy", "task", "lustre", "network"})) {
    return failure("invalid --profile=" + std::string(to.text()) + " option", kUsageStatus);
  }
  bool none = false;  // in a list, too, it stands for all
  for (const std::string_view word : text::split(to.text(), ','))
    none = none || text::equals_ignoring_case(word, "none");
  // Kept with Slurm's words and in its order.
  constexpr std::string_view kKinds[] = {"Energy", "Lustre", "Network", "Task"};
  std::string kept;
  for (const std::string_view kind : kKinds) {
    bool asked = false;
    for (std::string_view word : text::split(to.text(), ',')) {
      asked = asked || text::equals_ignoring_case(word, "all") || text::equals_ignoring_case(word, kind);
    }
    if (asked && !none) kept.append(kept.empty() ? "" : ",").append(kind);
  }
  to.request.spec.set_profile(kept.empty() ? "None" : kept);
  return {};
}

Status mem_bind(const Assignment& to) {
  const bool old = to.invocation.release < kSlurm26;
  if (to.text() == "help") {
    return failure(std::string("Memory bind options:\n"
                               "    --mem-bind=         Bind memory to locality domains (ldom)\n") +
                       (old ? "        nosort          avoid sorting pages at startup\n"
                              "        sort            sort pages at startup\n"
                            : "") +
                       "        q[uiet]         quietly bind before task runs (default)\n"
                       "        v[erbose]       verbosely report binding before task runs\n"
                       "        no[ne]          don't bind tasks to memory (default)\n"
                       "        rank            bind by task rank\n"
                       "        local           bind to memory local to processor\n"
                       "        map_mem:<list>  specify a memory binding for each task\n"
                       "                        where <list> is <cpuid1>,<cpuid2>,...<cpuidN>\n"
                       "        mask_mem:<list> specify a memory binding mask for each tasks\n"
                       "                        where <list> is <mask1>,<mask2>,...<maskN>\n"
                       "        help            show this help message\n",
                   kMemoryHelpStatus);
  }
  if (!old && to.text().empty()) return failure("unrecognized --mem-bind argument \"\"", kUsageStatus);
  for (const std::string_view word : text::split(to.text(), ',')) {
    if (!old && (text::equals_ignoring_case(word, "sort") || text::equals_ignoring_case(word, "nosort")))
      return failure("unrecognized --mem-bind argument \"" + std::string(word) + "\"", kUsageStatus);
  }
  if (const auto bind = text::parse_mem_bind(to.text()); !bind)
    return failure(bind.error().message, kUsageStatus);
  to.request.spec.set_mem_bind(std::string(to.text()));
  return {};
}

Status power(const Assignment& to) {
  // Gone with power capping itself; a variable that still stands is nobody's.
  if (to.invocation.release >= kSlurm24) {
    const auto given = to.request.given.find("power");
    if (given != to.request.given.end() && given->second == Source::kEnvironment) return {};
    return failure("unrecognized option '--power=" + std::string(to.text()) + "'", kWordStatus);
  }
  if (text::equals_ignoring_case(to.text(), "level")) {
    to.request.spec.set_power("level");
  } else {
    to.request.notes.push_back("error: Ignoring unrecognized power option (" + std::string(to.text()) + ")");
  }
  return {};
}

Status propagate(const Assignment& to) {
  std::vector<std::string> names;
  if (to.text().empty() || text::equals_ignoring_case(to.text(), "all")) {
    to.request.propagate.reset();
    return {};
  }
  if (!text::equals_ignoring_case(to.text(), "none")) {
    std::string list(to.text());
    std::replace(list.begin(), list.end(), ' ', ',');
    for (const std::string_view word : text::split(list, ',')) {
      if (word.empty()) continue;
      std::string name = to.invocation.release >= kSlurm26 ? std::string(word) : text::upper_case(word);
      if (name.starts_with("RLIMIT_")) name.erase(0, 7);
      bool known = false;
      for (std::string_view limit :
           {"AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"}) {
        known = known || name == limit;
      }
      if (!known) {
        std::string message =
            "Bad rlimit name: " + std::string(word) + "\n--propagate=" + std::string(to.text());
        return failure(message + " is not valid.", kFailureStatus);
      }
      names.push_back(std::move(name));
    }
  }
  to.request.propagate = std::move(names);
  return {};
}

Status reserved_for_system(const Assignment& to) {
  auto value = whole_number(to, to.option.name == "thread-spec" ? 1 : 0);
  if (!value) return failure(value.error());
  const auto core = to.request.given.find("core-spec"), thread = to.request.given.find("thread-spec");
  if (core != to.request.given.end() && thread != to.request.given.end() && core->second == thread->second) {
    return failure(
        core->second == Source::kEnvironment
            ? "fatal: Both --core-spec and --thread-spec set using environment variables. Those "
              "options are mutually exclusive."
            : "fatal: -S/--core-spec and --thred-spec options are mutually exclusive",  // as Slurm spells
        kFailureStatus);
  }
  std::string name = to.option.name == "core-spec" ? "-S" : "--" + std::string(to.option.name);
  std::string note =
      "error: Ignoring " + name + " since it's not allowed by configuration (AllowSpecResourcesUsage = No)";
  const auto& notes = to.request.notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) to.request.notes.push_back(std::move(note));
  return {};
}

Status resv_ports(const Assignment& to) {
  if (to.text().empty()) {
    to.request.spec.set_resv_ports(0);  // 0 means the largest number of tasks on a node
    return {};
  }
  auto value = whole_number(to, 0);
  if (!value) return failure(value.error());
  to.request.spec.set_resv_ports(*value);
  return {};
}

// 0: none.
Status segment(const Assignment& to) {
  const std::string_view digits = text::skip_blanks_and_plus(to.text());
  const auto value = digits.empty() ? std::optional<uint64_t>(0) : text::parse_unsigned(digits, kMaxNumber);
  if (!value) return invalid(to);
  to.request.spec.set_segment_size(static_cast<uint32_t>(*value));
  return {};
}

Status treewidth(const Assignment& to) {
  constexpr uint64_t kMostWidth = 65533;
  const bool good = to.text().empty() || text::equals_ignoring_case(to.text(), "off") ||
                    text::parse_unsigned(text::skip_blanks_and_plus(to.text()), kMostWidth);
  return good ? Status() : failure("Invalid --treewidth value: " + std::string(to.text()), kUsageStatus);
}

Status send_libs(const Assignment& to) {
  return is_any(to.text(), {"", "yes", "no"}) ? Status() : invalid(to);
}

Status compress(const Assignment& to) {
  if (!is_any(to.text(), {"", "lz4", "none"}))
    to.request.notes.push_back("error: Compression type '" + std::string(to.text()) +
                               "' unknown, disabling compression support.");
  return {};
}

// Which accelerators tasks are bound to; the GPUs of a step are visible to all its tasks.
Status accel_bind(const Assignment& to) {
  const bool known = !to.text().empty() && to.text().find_first_not_of("gnv") == std::string_view::npos;
  return known ? Status() : invalid(to);
}

// On one machine DISPLAY reaches the job as it is.
Status x11(const Assignment& to) {
  constexpr std::string_view kNodes[] = {"", "all", "batch", "first", "last"};
  const bool known = std::any_of(std::begin(kNodes), std::end(kNodes), [&](std::string_view word) {
    return text::equals_ignoring_case(to.text(), word);
  });
  const bool has_display = !to.invocation.variable("DISPLAY").value_or("").empty();
  if (!known || has_display) return {};
  return failure("No DISPLAY variable set, cannot setup x11 forwarding.", kUsageStatus);
}

Status slurmd_debug(const Assignment& to) {
  constexpr std::string_view kLevels[] = {"quiet", "fatal",  "error",  "info",   "verbose",
                                          "debug", "debug2", "debug3", "debug4", "debug5"};
  auto level = text::parse_unsigned(to.text(), std::size(kLevels) - 1);
  for (size_t i = 0; i < std::size(kLevels); ++i)
    if (text::equals_ignoring_case(to.text(), kLevels[i])) level = i;
  constexpr uint64_t kError = 2, kMost = 6;
  if (to.invocation.release >= kSlurm24 && level.value_or(kMost + 1) > kMost) {
    to.request.notes.push_back("Using max slurmd-debug value of 'debug2'");
    level = kMost;
  } else if (to.invocation.release >= kSlurm24 && *level < kError) {
    to.request.notes.push_back("Using min slurmd-debug level of error");
    level = kError;
  }
  if (!level) return invalid(to);
  to.request.slurmd_debug = static_cast<uint32_t>(*level);
  return {};
}

Status switches(const Assignment& to) {
  size_t at = to.text().find('@');
  const std::string_view digits = text::skip_blanks_and_plus(to.text().substr(0, at));
  const auto count = text::parse_unsigned(digits, kMaxNumber);
  if (!count && text::is_digits(digits) && to.invocation.release >= kSlurm24)
    return too_large(digits, "--switches");
  if (!count || *count == 0) return not_numeric(to.text(), "--switches");
  to.request.spec.set_switches(static_cast<uint32_t>(*count));
  if (at == std::string_view::npos) return {};
  if (at + 1 == to.text().size()) return {};  // "1@": as long as one waits without it
  const auto seconds = text::parse_seconds(to.text().substr(at + 1));
  if (!seconds || *seconds < 0) {
    to.request.notes.push_back("warning: --switches=" + std::string(to.text()) +
                               ": what stands behind @ is no time and is not read");
    return {};
  }
  to.request.spec.set_switches_wait_seconds(
      static_cast<uint32_t>(std::min<int64_t>(*seconds, kMaxSwitchWait)));
  return {};
}

}  // namespace minke::submit::set
