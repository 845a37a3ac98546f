#include "cli/scontrol/update.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "base/version.h"
#include "engine/fetch.h"
#include "model/step_record.pb.h"
#include "text/duration.h"
#include "text/job_id.h"
#include "text/nearest.h"
#include "text/number.h"

namespace minke::cli {
namespace {

struct Word {
  std::string name;
  std::string value;
};

// A name that can be updated, and how many of its letters are enough.
struct Name {
  std::string_view name;
  size_t enough;
};

// In Slurm's order: an abbreviation means the first name that matches.
constexpr Name kJobNames[] = {{"AdminComment", 6},
                              {"SiteFactor", 5},
                              {"ArrayTaskThrottle", 10},
                              {"Comment", 3},
                              {"Clusters", 8},
                              {"ClusterFeatures", 8},
                              {"DelayBoot", 5},
                              {"TimeLimit", 5},
                              {"TimeMin", 5},
                              {"Priority", 2},
                              {"Nice", 2},
                              {"ResetAccrueTime", 5},
                              {"CPUsPerTask", 9},
                              {"CpusPerTres", 9},
                              {"NumCPUs", 6},
                              {"NumTasks", 8},
                              {"ReqProcs", 8},
                              {"Requeue", 4},
                              {"ReqNodes", 8},
                              {"NumNodes", 7},
                              {"ReqSockets", 4},
                              {"ReqCores", 4},
                              {"TasksPerNode", 2},
                              {"ReqThreads", 4},
                              {"MinCPUsNode", 4},
                              {"MinMemoryNode", 10},
                              {"MinMemoryCPU", 10},
                              {"MinTmpDiskNode", 5},
                              {"Partition", 2},
                              {"QOS", 2},
                              {"ReservationName", 3},
                              {"Name", 2},
                              {"JobName", 4},
                              {"WCKey", 1},
                              {"StdOut", 6},
                              {"StdErr", 6},
                              {"StdIn", 5},
                              {"Switches", 5},
                              {"wait-for-switch", 5},
                              {"OverSubscribe", 2},
                              {"Shared", 2},
                              {"Contiguous", 3},
                              {"CoreSpec", 4},
                              {"MemPerTres", 5},
                              {"ThreadSpec", 4},
                              {"TresBind", 5},
                              {"TresFreq", 5},
                              {"TresPerJob", 8},
                              {"TresPerNode", 8},
                              {"TresPerSocket", 8},
                              {"TresPerTask", 8},
                              {"ExcNodeList", 3},
                              {"Extra", 3},
                              {"NodeList", 8},
                              {"ReqNodeList", 8},
                              {"Features", 1},
                              {"Prefer", 3},
                              {"Gres", 2},
                              {"Account", 1},
                              {"BurstBuffer", 1},
                              {"Dependency", 1},
                              {"Licenses", 1},
                              {"EligibleTime", 2},
                              {"StartTime", 2},
                              {"EndTime", 2},
                              {"Reboot", 3},
                              {"Deadline", 3},
                              {"WorkDir", 2},
                              {"MailType", 5},
                              {"MailUser", 5}};
constexpr Name kNodeNames[] = {{"ActiveFeatures", 3}, {"AvailableFeatures", 3},
                               {"Comment", 1},        {"CpuBind", 7},
                               {"Extra", 1},          {"Features", 1},
                               {"Gres", 1},           {"NodeAddr", 5},
                               {"NodeHostName", 5},   {"Reason", 1},
                               {"State", 1},          {"Weight", 1}};
constexpr Name kPartitionNames[] = {{"AllocNodes", 6},
                                    {"AllowAccounts", 6},
                                    {"AllowGroups", 6},
                                    {"AllowQos", 6},
                                    {"Alternate", 3},
                                    {"CpuBind", 7},
                                    {"Default", 7},
                                    {"DefaultTime", 8},
                                    {"DefMemPerCPU", 10},
                                    {"DefMemPerNode", 10},
                                    {"DenyAccounts", 5},
                                    {"DenyQos", 5},
                                    {"DisableRootJobs", 1},
                                    {"ExclusiveUser", 9},
                                    {"GraceTime", 5},
                                    {"Hidden", 1},
                                    {"JobDefaults", 1},
                                    {"LLN", 1},
                                    {"MaxCPUsPerNode", 4},
                                    {"MaxCPUsPerSocket", 11},
                                    {"MaxMemPerCPU", 10},
                                    {"MaxMemPerNode", 10},
                                    {"MaxNodes", 4},
                                    {"MaxTime", 4},
                                    {"MinNodes", 2},
                                    {"Nodes", 2},
                                    {"OverSubscribe", 5},
                                    {"OverTimeLimit", 5},
                                    {"PreemptMode", 3},
                                    {"Priority", 3},
                                    {"PriorityJobFactor", 9},
                                    {"PriorityTier", 9},
                                    {"QoS", 3},
                                    {"ReqResv", 3},
                                    {"RootOnly", 3},
                                    {"Shared", 2},
                                    {"State", 1},
                                    {"TRESBillingWeights", 1}};

bool means(std::string_view given, Name name) {
  return given.size() >= std::min(name.enough, name.name.size()) &&
         text::starts_with_ignoring_case(name.name, given);
}

std::vector<Word> parse_words(const std::vector<std::string>& words) {
  std::vector<Word> result;
  for (size_t i = 0; i < words.size(); ++i) {
    size_t equals = words[i].find('=');
    if (equals == std::string::npos) {
      std::string value = i + 1 < words.size() ? words[i + 1] : "";
      result.push_back({words[i], std::move(value)});
      ++i;
      continue;
    }
    // TimeLimit+=30 adds: the daemon reads the sign in the value.
    std::string name = words[i].substr(0, equals);
    std::string value = words[i].substr(equals + 1);
    if (!name.empty() && (name.back() == '+' || name.back() == '-')) {
      value.insert(0, 1, name.back());
      name.pop_back();
    }
    result.push_back({std::move(name), std::move(value)});
  }
  return result;
}

// What older releases say after scontrol's own refusal of a partition's field.
std::string no_error() {
  return spoken_release() < kSlurm24 ? "\nslurm_update error: No error" : "";
}

tl::unexpected<Error> not_supported(const Word& word, std::span<const Name> names, bool partition) {
  std::vector<std::string> known;
  for (const Name& name : names) known.push_back(text::lower_case(name.name));
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string_view meant = text::nearest(text::lower_case(word.name), candidates);
  std::string what = "Update of this parameter is not supported: " + word.name + "=" + word.value;
  if (!meant.empty()) what += " (did you mean " + std::string(meant) + "?)";
  if (partition)
    return failure("scontrol: error: " + what + "\n\nscontrol: error: Request aborted" + no_error());
  return failure(what + "\nRequest aborted");
}

// Adds the words as fields, under their full names.
Status add_fields(const std::vector<Word>& words, std::span<const Name> names, bool partition,
                  google::protobuf::RepeatedPtrField<api::Field>* fields) {
  for (const Word& word : words) {
    const Name* found = nullptr;
    for (const Name& name : names)
      if (text::equals_ignoring_case(word.name, name.name)) found = &name;
    for (const Name& name : names)
      if (found == nullptr && means(word.name, name)) found = &name;
    if (found == nullptr) return not_supported(word, names, partition);
    api::Field* field = fields->Add();
    field->set_name(std::string(found->name));
    field->set_value(word.value);
  }
  if (fields->empty()) return failure("No changes specified (write what is to change: timelimit=2:00:00)");
  return {};
}

// What Slurm's scontrol itself reads as a number, without a unit.
Status check_numbers(const google::protobuf::RepeatedPtrField<api::Field>& fields) {
  struct Number {
    std::string_view name;
    uint64_t most;
  };
  constexpr uint64_t kMost = uint64_t{1} << 62;
  constexpr Number kNumbers[] = {{"Requeue", 0xffff}, {"MinMemoryNode", kMost}, {"MinMemoryCPU", kMost}};
  for (const api::Field& field : fields) {
    const std::string_view digits = text::skip_blanks_and_plus(field.value());
    for (const Number& number : kNumbers) {
      if (field.name() != number.name || digits.empty() || text::parse_unsigned(digits, number.most))
        continue;
      return failure("scontrol: error: Invalid " + field.name() + " value: " + field.value());
    }
  }
  return {};
}

Result<UpdateRequests> update_jobs(const Word& jobs, std::vector<Word> words, bool by_name) {
  api::UpdateJobRequest update;
  UpdateRequests result;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!means(word->name, {"UserID", 3})) continue;
    if (!by_name) {  // its number determines the owner
      words.erase(word);
      break;
    }
    const auto uid = text::parse_unsigned(word->value, 0xfffffffe);
    if (!uid) return failure("Invalid UserID value: " + word->value);
    result.uid = static_cast<uint32_t>(*uid);
    words.erase(word);
    break;
  }
  if (Status status = add_fields(words, kJobNames, false, update.mutable_fields()); !status)
    return failure(status.error());
  if (const Status numbers = check_numbers(update.fields()); !numbers) return failure(numbers.error());
  for (const api::Field& field : update.fields()) {
    if (field.name() != "TimeLimit") continue;
    std::string_view amount = field.value();
    if (amount != "-1" && (amount.starts_with('+') || amount.starts_with('-'))) amount.remove_prefix(1);
    if (!text::parse_minutes(amount)) return failure("scontrol: error: Invalid TimeLimit value");
  }
  if (by_name) {
    update.set_name(jobs.value);
    result.names.push_back(jobs.value);
    result.updates.emplace_back(std::move(update));
    return result;
  }
  auto references = text::parse_job_id_list(jobs.value);
  if (!references || references->empty()) return failure("Invalid job id specified for job " + jobs.value);
  for (const text::JobReference& reference : *references) {
    api::UpdateJobRequest one = update;
    *one.mutable_job() = engine::selector_of(reference);
    result.names.push_back(text::format_job_id(reference));
    result.updates.emplace_back(std::move(one));
  }
  return result;
}

// For a job's running steps, or one step, only the time limit can change.
Result<UpdateRequests> update_steps(const Word& steps, const std::vector<Word>& words) {
  const auto reference = text::parse_job_id(steps.value);
  const bool whole = reference && (!reference->step || reference->step->kind == model::STEP_NORMAL);
  if (!whole) return failure("Invalid job id specified for job " + steps.value);
  api::UpdateJobRequest update;
  update.set_steps(true);
  if (reference->step) update.set_step_id(reference->step->step_id);
  *update.mutable_job() = engine::selector_of(*reference);
  constexpr Name kStepNames[] = {{"TimeLimit", 5}};
  if (Status status = add_fields(words, kStepNames, false, update.mutable_fields()); !status)
    return failure(status.error());
  for (const api::Field& field : update.fields()) {
    if (!text::parse_minutes(field.value())) return failure("scontrol: error: Invalid TimeLimit value");
  }
  UpdateRequests result;
  result.names.push_back(steps.value);
  result.updates.emplace_back(std::move(update));
  return result;
}

bool is_yes_or_no(std::string_view value) {
  return text::equals_ignoring_case(value, "YES") || text::equals_ignoring_case(value, "NO");
}

bool names_gang(std::string_view modes) {
  const auto words = text::split(modes, ',');
  return std::any_of(words.begin(), words.end(),
                     [](std::string_view word) { return text::equals_ignoring_case(word, "GANG"); });
}

// Fields of a partition that hold a number, or UNLIMITED where that has a meaning.
Status check_number(const api::Field& field) {
  struct Number {
    std::string_view name;
    bool may_be_unlimited;
    uint64_t most = 0xfffffffd;
  };
  constexpr Number kNumbers[] = {{"Priority", false, 0xffff},
                                 {"PriorityTier", false, 0xffff},
                                 {"PriorityJobFactor", false, 0xffff},
                                 {"DefMemPerCPU", false},
                                 {"DefMemPerNode", false},
                                 {"MaxMemPerCPU", true},
                                 {"MaxMemPerNode", true},
                                 {"MaxNodes", true},
                                 {"GraceTime", false},
                                 {"OverTimeLimit", true, 0xffff}};
  for (const Number& number : kNumbers) {
    if (field.name() != number.name || text::parse_unsigned(field.value(), number.most)) continue;
    if (number.may_be_unlimited && (text::equals_ignoring_case(field.value(), "UNLIMITED") ||
                                    text::equals_ignoring_case(field.value(), "INFINITE")))
      continue;
    if (field.name() == "MaxNodes")
      return failure("scontrol: error: Invalid numeric value \"" + field.value() + "\" for MaxNodes.");
    return failure("scontrol: error: Invalid " + field.name() + " value: " + field.value());
  }
  return {};
}

// What Slurm's scontrol itself refuses, in its words.
Status check_partition(const google::protobuf::RepeatedPtrField<api::Field>& fields) {
  for (const api::Field& field : fields) {
    const std::string given = text::lower_case(field.name()) + "=" + field.value();
    const std::string invalid = "scontrol: error: Invalid input: " + given;
    for (std::string_view flag :
         {"Default", "Hidden", "RootOnly", "DisableRootJobs", "ReqResv", "ExclusiveUser", "LLN"}) {
      if (field.name() != flag || is_yes_or_no(field.value())) continue;
      return failure(invalid + "\nscontrol: error: Acceptable " + std::string(flag) +
                     " values are YES and NO" + no_error());
    }
    if (field.name() == "PreemptMode" && spoken_release() >= kSlurm24 && names_gang(field.value()))
      return failure(
          "scontrol: error: PreemptMode=GANG is a cluster-wide option and cannot be set at partition level");
    bool known = field.name() != "State";
    for (std::string_view state : {"UP", "DOWN", "DRAIN", "INACTIVE"})
      known = known || text::equals_ignoring_case(field.value(), state);
    if (!known) {
      return failure(invalid + "\nscontrol: error: Acceptable State values are UP, DOWN, DRAIN and INACTIVE" +
                     no_error());
    }
    if (field.name() == "MaxCPUsPerNode" && !text::equals_ignoring_case(field.value(), "UNLIMITED") &&
        !text::parse_unsigned(field.value(), 0xfffffffe))
      return failure("scontrol: error: Invalid MaxCPUsPerNode value: " + field.value() + no_error());
    if (spoken_release() >= kSlurm24) {
      if (const Status number = check_number(field); !number) return number;
    }
    const bool is_time = field.name() == "MaxTime" || field.name() == "DefaultTime";
    if (is_time && !text::equals_ignoring_case(field.value(), "NONE") && !text::parse_minutes(field.value()))
      return failure("scontrol: error: Invalid input " + given + no_error());
  }
  return {};
}

Status check_node(const api::UpdateNodeRequest& update) {
  for (const api::Field& field : update.fields()) {
    if (field.name() == "Weight" && !text::parse_unsigned(field.value(), 0xfffffffe)) {
      return failure("scontrol: error: Weight value (" + field.value() +
                     ") is not a valid number\nNo changes specified");
    }
  }
  return {};
}
Status check_node_state(const api::UpdateNodeRequest& update) {
  std::string state;
  bool reason = false;
  for (const api::Field& field : update.fields()) {
    if (field.name() == "State") state = field.value();
    reason = reason || field.name() == "Reason";
  }
  if (state.empty()) return {};
  const auto is = [&](std::string_view word) { return text::equals_ignoring_case(state, word); };
  if ((is("DOWN") || is("DRAIN") || is("FAIL")) && !reason)
    return failure("You must specify a reason when DOWNING or DRAINING a node. Request denied");
  for (std::string_view word :
       {"DOWN", "DRAIN", "FAIL", "FUTURE", "IDLE", "NoResp", "POWER_DOWN", "POWER_UP", "RESUME", "UNDRAIN"}) {
    if (is(word)) return {};
  }
  return failure("Invalid input: state=" + state +
                 "\nRequest aborted\nValid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP "
                 "UNDRAIN\nNot all states are valid given a node's prior state");
}

}  // namespace

Result<UpdateRequests> parse_update(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return failure("too few arguments for update keyword");
  std::vector<Word> words = parse_words(arguments);
  for (size_t i = 0; i < words.size(); ++i) {
    Word entity = words[i];
    std::vector<Word> others = words;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    if (means(entity.name, {"JobId", 3})) return update_jobs(entity, others, false);
    if (means(entity.name, {"StepId", 4})) return update_steps(entity, others);
    if (means(entity.name, {"NodeName", 3})) {
      UpdateRequests result;
      api::UpdateNodeRequest update;
      update.set_node_list(entity.value);
      result.names.push_back(entity.value);
      if (Status status = add_fields(others, kNodeNames, false, update.mutable_fields()); !status)
        return failure(status.error());
      if (Status status = check_node(update); !status) return failure(status.error());
      if (Status status = check_node_state(update); !status) return failure(status.error());
      result.updates.emplace_back(std::move(update));
      return result;
    }
    if (means(entity.name, {"PartitionName", 3})) {
      // "Partition" is also a property of a job.
      bool of_job = false;
      for (const Word& word : others)
        of_job = of_job || means(word.name, {"JobId", 3}) || means(word.name, {"JobName", 4});
      if (of_job) continue;
      UpdateRequests result;
      api::UpdatePartitionRequest update;
      update.set_name(entity.value);
      result.names.push_back(entity.value);
      if (Status status = add_fields(others, kPartitionNames, true, update.mutable_fields()); !status)
        return failure(status.error());
      if (Status status = check_partition(update.fields()); !status) return failure(status.error());
      result.updates.emplace_back(std::move(update));
      return result;
    }
  }
  // JobName selects jobs only if no word has a job id: otherwise it is the property to change.
  for (size_t i = 0; i < words.size(); ++i) {
    if (!means(words[i].name, {"JobName", 4})) continue;
    std::vector<Word> others = words;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    return update_jobs(words[i], others, true);
  }
  const bool is_job = !arguments.empty() && text::parse_job_id(arguments.front()).has_value();
  return failure(
      "No valid entity in update command\n"
      "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or "
      "\"SlurmctldDebug\"" +
      (is_job ? " (a job: scontrol update jobid=" + arguments.front() + " timelimit=2:00:00)"
              : std::string()));
}

Result<UpdateRequest> parse_creation(const std::vector<std::string>& arguments) {
  if (!arguments.empty() &&
      (names_reservation(arguments) || means(arguments.front(), {"ReservationName", 3})))
    return parse_reservation(arguments, api::CREATE);
  std::vector<Word> words = parse_words(arguments);
  if (words.empty()) return failure("too few arguments for create keyword");
  const std::string& given = arguments.front();
  for (size_t i = 0; i < words.size(); ++i) {
    if (!means(words[i].name, {"PartitionName", 3})) continue;
    api::UpdatePartitionRequest create;
    create.set_name(words[i].value);
    create.set_change(api::CREATE);
    words.erase(words.begin() + static_cast<ptrdiff_t>(i));
    if (words.empty()) return create;
    if (Status status = add_fields(words, kPartitionNames, true, create.mutable_fields()); !status)
      return failure(status.error());
    if (Status status = check_partition(create.fields()); !status) return failure(status.error());
    return create;
  }
  return failure("scontrol: error: Invalid creation entity: " + given);
}

Result<UpdateRequest> parse_deletion(const std::vector<std::string>& arguments) {
  const std::vector<Word> words = parse_words(arguments);
  if (words.size() == 1 && means(words[0].name, {"PartitionName", 3})) {
    api::UpdatePartitionRequest request;
    request.set_name(words[0].value);
    request.set_change(api::DELETE);
    return request;
  }
  if (words.size() == 1 && means(words[0].name, {"ReservationName", 3})) {
    api::UpdateReservationRequest request;
    request.set_name(words[0].value);
    request.set_change(api::DELETE);
    return request;
  }
  return failure("Invalid deletion entity: " + (arguments.empty() ? std::string() : arguments.front()));
}

}  // namespace minke::cli
