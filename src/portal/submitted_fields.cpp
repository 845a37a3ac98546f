#include "portal/submitted_fields.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "text/number.h"

namespace minke::portal {
namespace {

constexpr FieldOption kFields[] = {
    {"account", "account"},
    {"account_gather_frequency", "acctg-freq"},
    {"array", "array"},
    {"batch_features", "batch"},
    {"begin_time", "begin", As::kMoment},
    {"burst_buffer", "bb"},
    {"clusters", "clusters"},
    {"comment", "comment"},
    {"constraints", "constraint"},
    {"container", "container"},
    {"container_id", "container-id"},
    {"contiguous", "contiguous", As::kFlag},
    {"core_specification", "core-spec", As::kNumber},
    {"cores_per_socket", "cores-per-socket", As::kNumber},
    {"cpu_frequency", "cpu-freq"},
    {"cpus_per_task", "cpus-per-task", As::kNumber},
    {"cpus_per_tres", "cpus-per-gpu", As::kOfGpu},
    {"current_working_directory", "chdir"},
    {"deadline", "deadline", As::kMoment},
    {"dependency", "dependency"},
    {"distribution", "distribution"},
    {"excluded_nodes", "exclude"},
    {"extra", "extra"},
    {"hold", "hold", As::kFlag},
    {"licenses", "licenses"},
    {"mail_user", "mail-user"},
    {"mcs_label", "mcs-label"},
    {"memory_binding", "mem-bind"},
    {"memory_per_cpu", "mem-per-cpu", As::kMebibytes},
    {"memory_per_node", "mem", As::kMebibytes},
    {"memory_per_tres", "mem-per-gpu", As::kOfGpu},
    {"minimum_cpus_per_node", "mincpus", As::kNumber},
    {"name", "job-name"},
    {"network", "network"},
    {"nice", "nice", As::kNumber},
    {"ntasks_per_tres", "ntasks-per-gpu", As::kNumber},
    {"overcommit", "overcommit", As::kFlag},
    {"partition", "partition"},
    {"prefer", "prefer"},
    {"priority", "priority", As::kNumber},
    {"profile", "profile"},
    {"qos", "qos"},
    {"reboot", "reboot", As::kFlag},
    {"required_nodes", "nodelist"},
    {"reservation", "reservation"},
    {"reserve_ports", "resv-ports", As::kNumber},
    {"segment_size", "segment", As::kNumber},
    {"sockets_per_node", "sockets-per-node", As::kNumber},
    {"standard_error", "error"},
    {"standard_input", "input"},
    {"standard_output", "output"},
    {"tasks", "ntasks", As::kNumber},
    {"tasks_per_core", "ntasks-per-core", As::kNumber},
    {"tasks_per_node", "ntasks-per-node", As::kNumber},
    {"tasks_per_socket", "ntasks-per-socket", As::kNumber},
    {"temporary_disk_per_node", "tmp", As::kMebibytes},
    {"thread_specification", "thread-spec", As::kNumber},
    {"threads_per_core", "threads-per-core", As::kNumber},
    {"time_limit", "time", As::kMinutes},
    {"time_minimum", "time-min", As::kMinutes},
    {"tres_bind", "tres-bind"},
    {"tres_freq", "gpu-freq", As::kGpus},
    {"tres_per_job", "gpus", As::kGpus},
    {"tres_per_node", "gres", As::kTres},
    {"tres_per_socket", "gpus-per-socket", As::kGpus},
    {"tres_per_task", "tres-per-task"},
    {"wckey", "wckey"},
};

// The number of 7, "7", or {"set": true, "number": 7}; none: unset.
std::optional<std::string> number_of(const Json& value) {
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || !value.value("set", false)) return std::nullopt;
  if (value.value("infinite", false)) return "UNLIMITED";
  const auto number = value.find("number");
  return number != value.end() && number->is_number() ? std::optional(std::to_string(number->get<int64_t>()))
                                                      : std::nullopt;
}

// The text of "a,b" or ["a", "b"].
std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (!value.is_array()) return std::nullopt;
  std::string list;
  for (const Json& one : value)
    if (one.is_string()) list += (list.empty() ? "" : ",") + one.get<std::string>();
  return list;
}

// "gres/gpu:a100:2,gres/shard:1" without "gres/"; with `gpus` also without "gpu:".
std::string tres_words(std::string_view list, bool gpus) {
  std::string words;
  for (std::string_view one : text::split(list, ',')) {
    for (const std::string_view prefix : {"gres/", "gres:"})
      if (one.starts_with(prefix)) one.remove_prefix(prefix.size());
    if (gpus && one.starts_with("gpu")) one.remove_prefix(std::min<size_t>(one.size(), 4));
    words += (words.empty() ? "" : ",") + std::string(one);
  }
  return words;
}

// The number of "gres/gpu:4": what each GPU gets.
std::optional<std::string> each_gpu(const Json& value) {
  const std::string words = tres_words(text_of(value).value_or(""), true);
  return words.empty() ? std::nullopt : std::optional(words);
}

}  // namespace

std::optional<std::string> option_value(const FieldOption& row, const Json& value) {
  switch (row.as) {
    case As::kNumber:
    case As::kMinutes:
      return number_of(value);
    case As::kMoment: {
      const auto seconds = number_of(value);
      return !seconds || *seconds == "0" ? std::nullopt : std::optional("uts" + *seconds);
    }
    case As::kMebibytes: {
      const auto number = number_of(value);
      return number && text::parse_unsigned(*number) ? std::optional(*number + "M") : number;
    }
    case As::kOfGpu:
      return each_gpu(value);
    case As::kTres:
    case As::kGpus: {
      const auto list = text_of(value);
      return list ? std::optional(tres_words(*list, row.as == As::kGpus)) : std::nullopt;
    }
    default:
      return text_of(value);
  }
}

namespace {

bool is_true(const Json& job, const char* name) {
  const auto found = job.find(name);
  return found != job.end() && found->is_boolean() && found->get<bool>();
}

// A field's words: "A", ["A", "B"], "A,B".
std::vector<std::string> words_of(const Json& job, const char* name) {
  const auto found = job.find(name);
  if (found == job.end()) return {};
  std::vector<std::string> words;
  const std::string list = text_of(*found).value_or("");
  for (const std::string_view word : text::split(list, ','))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

std::optional<std::string> number_in(const Json& job, const char* name) {
  const auto found = job.find(name);
  const auto number = found == job.end() ? std::nullopt : number_of(*found);
  return number && *number != "0" ? number : std::nullopt;
}

// Options that are made of several fields, or whose words differ. Their fields:
constexpr std::string_view kComposed[] = {
    "nodes",
    "minimum_nodes",
    "maximum_nodes",
    "minimum_cpus",
    "mail_type",
    "open_mode",
    "shared",
    "exclusive",
    "oversubscribe",
    "kill_warning_signal",
    "kill_warning_delay",
    "kill_warning_flags",
    "wait_all_nodes",
    "kill_on_node_fail",
    "delay_boot",
    "required_switches",
    "wait_for_switch",
    "flags",
    "requeue",
    // They come to sbatch in other ways.
    "script",
    "environment",
    "argv",
};

std::string minutes_and_seconds(const std::string& seconds) {
  const uint64_t all = text::parse_unsigned(seconds).value_or(0);
  return std::to_string(all / 60) + ":" + (all % 60 < 10 ? "0" : "") + std::to_string(all % 60);
}

void add_size(const Json& job, std::vector<std::string>& options) {
  const auto least = number_in(job, "minimum_nodes"), most = number_in(job, "maximum_nodes");
  if (const auto nodes = job.find("nodes");
      nodes != job.end() && text_of(*nodes) && !text_of(*nodes)->empty()) {
    options.push_back("--nodes=" + *text_of(*nodes));
  } else if (least || most) {
    options.push_back("--nodes=" + least.value_or("1") + (most ? "-" + *most : ""));
  }
  // What sbatch makes of tasks and their CPUs: alone it means as many tasks.
  const auto cpus = number_in(job, "minimum_cpus");
  if (cpus && !number_in(job, "tasks") && !number_in(job, "cpus_per_task") &&
      !number_in(job, "tasks_per_node"))
    options.push_back("--ntasks=" + *cpus);
}

void add_mail(const Json& job, std::vector<std::string>& options) {
  std::string kinds;
  for (std::string word : words_of(job, "mail_type")) {
    if (word == "INVALID_DEPENDENCY") word = "INVALID_DEPEND";
    if (word.starts_with("TIME="))
      word = word == "TIME=100%" ? "TIME_LIMIT" : "TIME_LIMIT_" + word.substr(5, word.find('%') - 5);
    kinds += (kinds.empty() ? "" : ",") + word;
  }
  if (!kinds.empty()) options.push_back("--mail-type=" + kinds);
}

// "shared" of all versions, and its forms until v0.0.41.
void add_sharing(const Json& job, std::vector<std::string>& options) {
  std::vector<std::string> words = words_of(job, "shared");
  for (const std::string& word : words_of(job, "exclusive"))
    words.push_back(word == "true" ? "none" : word == "false" ? "" : word);
  if (is_true(job, "exclusive")) words.emplace_back("none");
  if (is_true(job, "oversubscribe")) words.emplace_back("oversubscribe");
  for (const std::string& word : words) {
    if (word == "none") options.emplace_back("--exclusive");
    if (word == "oversubscribe") options.emplace_back("--oversubscribe");
    if (word == "user" || word == "mcs" || word == "topo") options.push_back("--exclusive=" + word);
  }
}

void add_signal(const Json& job, std::vector<std::string>& options) {
  const auto given = job.find("kill_warning_signal");
  const auto signal = given == job.end() ? std::nullopt : text_of(*given);
  if (!signal || signal->empty() || *signal == "0") return;
  std::string flags;
  for (const std::string& word : words_of(job, "kill_warning_flags")) {
    if (word == "BATCH_JOB") flags += 'B';
    if (word == "REQUEUE_JOB" || word == "RESERVATION_OVERLAP") flags += 'R';
  }
  const auto delay = number_in(job, "kill_warning_delay");
  options.push_back("--signal=" + (flags.empty() ? "" : flags + ":") + *signal + (delay ? "@" + *delay : ""));
}

void add_flags(const Json& job, std::vector<std::string>& options, std::vector<std::string>& warnings) {
  constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"KILL_INVALID_DEPENDENCY", "--kill-on-invalid-dep=yes"},
      {"NO_KILL_INVALID_DEPENDENCY", "--kill-on-invalid-dep=no"},
      {"SPREAD_JOB", "--spread-job"},
      {"PREFER_MINIMUM_NODE_COUNT", "--use-min-nodes"},
      {"GRES_BINDING_DISABLED", "--gres-flags=disable-binding"},
      {"GRES_BINDING_ENFORCED", "--gres-flags=enforce-binding"},
      {"STEPMGR_ENABLED", "--stepmgr"},
      {"SPREAD_SEGMENTS", "--spread-segments"},
      {"CONSOLIDATE_SEGMENTS", "--consolidate-segments"},
  };
  for (const std::string& word : words_of(job, "flags")) {
    const auto known = std::find_if(std::begin(kFlags), std::end(kFlags),
                                    [&](const auto& one) { return one.first == word; });
    if (known == std::end(kFlags))
      warnings.push_back("Ignoring flag \"" + word + "\"");
    else
      options.emplace_back(known->second);
  }
}

void add_composed(const Json& job, std::vector<std::string>& options, std::vector<std::string>& warnings) {
  add_size(job, options);
  add_mail(job, options);
  add_sharing(job, options);
  add_signal(job, options);
  add_flags(job, options, warnings);
  for (const std::string& word : words_of(job, "open_mode"))
    options.push_back("--open-mode=" + text::lower_case(word));
  if (const auto requeue = job.find("requeue"); requeue != job.end() && requeue->is_boolean())
    options.emplace_back(requeue->get<bool>() ? "--requeue" : "--no-requeue");
  if (is_true(job, "wait_all_nodes")) options.emplace_back("--wait-all-nodes=1");
  if (const auto kill = job.find("kill_on_node_fail");
      kill != job.end() && kill->is_boolean() && !kill->get<bool>())
    options.emplace_back("--no-kill");
  if (const auto delay = number_in(job, "delay_boot"))  // seconds; sbatch takes minutes
    options.push_back("--delay-boot=" + std::to_string((text::parse_unsigned(*delay).value_or(0) + 59) / 60));
  if (const auto switches = number_in(job, "required_switches")) {
    const auto wait = number_in(job, "wait_for_switch");
    options.push_back("--switches=" + *switches + (wait ? "@" + minutes_and_seconds(*wait) : ""));
  }
}

}  // namespace

std::vector<std::string> submitted_options(const Json& job, std::vector<std::string>& warnings) {
  std::vector<std::string> options;
  for (const auto& [name, value] : job.items()) {
    if (value.is_null() || std::find(std::begin(kComposed), std::end(kComposed), name) != std::end(kComposed))
      continue;
    const auto row = std::find_if(std::begin(kFields), std::end(kFields),
                                  [&, &field = name](const auto& one) { return one.field == field; });
    if (row == std::end(kFields)) {
      warnings.push_back("Ignoring unknown field \"" + name + "\"");
      continue;
    }
    const std::string option = "--" + std::string(row->option);
    if (row->as == As::kFlag) {
      if (value.is_boolean() && value.get<bool>()) options.push_back(option);
    } else if (const auto text = option_value(*row, value); text && !text->empty()) {
      options.push_back(option + "=" + *text);
    }
  }
  add_composed(job, options, warnings);
  return options;
}

}  // namespace minke::portal
