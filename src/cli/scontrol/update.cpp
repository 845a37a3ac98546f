#include "cli/scontrol/update.h"

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "cli/fetch.h"
#include "text/job_id.h"
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

constexpr Name kJobNames[] = {{"Account", 3},        {"AdminComment", 3},   {"ArrayTaskThrottle", 10},
                              {"Comment", 3},        {"Contiguous", 3},     {"CoreSpec", 4},
                              {"CPUsPerTask", 9},    {"Deadline", 3},       {"DelayBoot", 5},
                              {"Dependency", 3},     {"EligibleTime", 3},   {"EndTime", 2},
                              {"ExcNodeList", 3},    {"Features", 1},       {"Gres", 2},
                              {"JobName", 4},        {"Licenses", 1},       {"MailType", 5},
                              {"MailUser", 5},       {"MinCPUsNode", 4},    {"MinMemoryCPU", 10},
                              {"MinMemoryNode", 10}, {"MinTmpDiskNode", 5}, {"Name", 2},
                              {"Nice", 2},           {"NodeList", 8},       {"NumCPUs", 6},
                              {"NumNodes", 7},       {"NumTasks", 8},       {"OverSubscribe", 2},
                              {"Partition", 2},      {"Priority", 2},       {"QOS", 2},
                              {"ReqCores", 4},       {"ReqNodeList", 8},    {"ReqNodes", 8},
                              {"ReqProcs", 4},       {"Requeue", 4},        {"ReservationName", 3},
                              {"Shared", 2},         {"StartTime", 2},      {"StdOut", 2},
                              {"TimeLimit", 5},      {"TimeMin", 5},        {"TresPerNode", 9},
                              {"UserID", 3},         {"WCKey", 1},          {"WorkDir", 2}};
constexpr Name kNodeNames[] = {{"ActiveFeatures", 3}, {"AvailableFeatures", 3},
                               {"Comment", 1},        {"CpuBind", 7},
                               {"Extra", 1},          {"Features", 1},
                               {"Gres", 1},           {"NodeAddr", 5},
                               {"NodeHostName", 5},   {"Reason", 1},
                               {"State", 1},          {"Weight", 1}};
constexpr Name kPartitionNames[] = {{"AllowAccounts", 6},  {"AllowGroups", 6},   {"AllowQos", 6},
                                    {"Default", 7},        {"DefaultTime", 8},   {"DefMemPerCPU", 10},
                                    {"DefMemPerNode", 10}, {"ExclusiveUser", 9}, {"Hidden", 1},
                                    {"MaxNodes", 4},       {"MaxTime", 4},       {"MinNodes", 2},
                                    {"Nodes", 2},          {"OverSubscribe", 5}, {"PriorityJobFactor", 9},
                                    {"PriorityTier", 9},   {"State", 1}};

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

tl::unexpected<Error> not_supported(const Word& word, bool partition) {
  std::string what = "Update of this parameter is not supported: " + word.name + "=" + word.value;
  if (partition) return failure("scontrol: error: " + what + "\n\nscontrol: error: Request aborted");
  return failure(what + "\nRequest aborted");
}

// Adds the words as fields, under their full names.
Status add_fields(const std::vector<Word>& words, std::span<const Name> names, bool partition,
                  google::protobuf::RepeatedPtrField<rpc::Field>* fields) {
  for (const Word& word : words) {
    const Name* found = nullptr;
    for (const Name& name : names)
      if (text::equals_ignoring_case(word.name, name.name)) found = &name;
    for (const Name& name : names)
      if (found == nullptr && means(word.name, name)) found = &name;
    if (found == nullptr) return not_supported(word, partition);
    rpc::Field* field = fields->Add();
    field->set_name(std::string(found->name));
    field->set_value(word.value);
  }
  if (fields->empty()) return failure("No changes specified");
  return {};
}

Result<UpdateRequests> update_jobs(const Word& jobs, const std::vector<Word>& words, bool by_name) {
  rpc::UpdateJobRequest update;
  if (Status status = add_fields(words, kJobNames, false, update.mutable_fields()); !status)
    return failure(status.error());
  UpdateRequests result;
  if (by_name) {
    update.set_name(jobs.value);
    result.names.push_back(jobs.value);
    *result.messages.emplace_back().mutable_update_job() = std::move(update);
    return result;
  }
  auto references = text::parse_job_id_list(jobs.value);
  if (!references || references->empty()) return failure("Invalid job id specified for job " + jobs.value);
  for (const text::JobReference& reference : *references) {
    rpc::UpdateJobRequest one = update;
    *one.mutable_job() = selector_of(reference);
    result.names.push_back(text::format_job_id(reference));
    *result.messages.emplace_back().mutable_update_job() = std::move(one);
  }
  return result;
}

// What Slurm's scontrol refuses by itself.
Status check_node_state(const rpc::UpdateNodeRequest& update) {
  std::string state;
  bool reason = false;
  for (const rpc::Field& field : update.fields()) {
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
    if (means(entity.name, {"NodeName", 3})) {
      UpdateRequests result;
      rpc::UpdateNodeRequest& update = *result.messages.emplace_back().mutable_update_node();
      update.set_node_list(entity.value);
      result.names.push_back(entity.value);
      if (Status status = add_fields(others, kNodeNames, false, update.mutable_fields()); !status)
        return failure(status.error());
      if (Status status = check_node_state(update); !status) return failure(status.error());
      return result;
    }
    if (means(entity.name, {"PartitionName", 3})) {
      // "Partition" is also something that a job has.
      bool of_job = false;
      for (const Word& word : others)
        of_job = of_job || means(word.name, {"JobId", 3}) || means(word.name, {"JobName", 4});
      if (of_job) continue;
      UpdateRequests result;
      rpc::UpdatePartitionRequest& update = *result.messages.emplace_back().mutable_update_partition();
      update.set_name(entity.value);
      result.names.push_back(entity.value);
      if (Status status = add_fields(others, kPartitionNames, true, update.mutable_fields()); !status)
        return failure(status.error());
      return result;
    }
  }
  // By name only where no job id stands among the words: there JobName is what is to change.
  for (size_t i = 0; i < words.size(); ++i) {
    if (!means(words[i].name, {"JobName", 4})) continue;
    std::vector<Word> others = words;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    return update_jobs(words[i], others, true);
  }
  return failure(
      "No valid entity in update command\n"
      "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or "
      "\"SlurmctldDebug\"");
}

}  // namespace minke::cli
