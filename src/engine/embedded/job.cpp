#include "engine/embedded/job.h"

#include <algorithm>

#include "base/result.h"
#include "engine/embedded/owner_watch.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"

namespace minke::engine {

Details::Details() = default;
Details::~Details() = default;

model::JobSpec Submission::spec() const {
  model::JobSpec parsed;
  MINKE_CHECK(parsed.ParseFromString(spec_bytes));
  return parsed;
}

bool Job::has_node(const std::string& name) const {
  return details && std::any_of(details->nodes.begin(), details->nodes.end(),
                                [&](const model::NodeAllocation& node) { return node.node() == name; });
}

int64_t Job::limit_end() const {
  return start_time + (details ? details->suspended_seconds : 0) + int64_t{time_limit_minutes} * 60;
}

BriefSpec BriefSpec::of(const model::JobSpec& spec) {
  BriefSpec brief;
  brief.name = spec.name();
  brief.account = spec.account();
  brief.partition = spec.partition();
  brief.qos = spec.qos();
  brief.begin_time = spec.begin_time();
  brief.min_nodes = spec.min_nodes();
  brief.max_nodes = spec.max_nodes();
  brief.ntasks = spec.ntasks();
  brief.cpus_per_task = spec.cpus_per_task();
  brief.ntasks_per_node = spec.ntasks_per_node();
  brief.min_cpus = spec.min_cpus();
  brief.exclusive = spec.exclusive();
  brief.overcommit = spec.overcommit();
  return brief;
}

// Reads protobuf's wire form itself: to make a message of it costs many times as much. The fields wanted have
// low numbers, and fields are written in the order of their numbers.
BriefSpec Submission::brief_spec() const {
  using Spec = model::JobSpec;
  BriefSpec brief;
  brief.overcommit = overcommit;
  const char* at = spec_bytes.data();
  const char* const end = at + spec_bytes.size();
  // What an older daemon has stored may have fields that nobody knows, of any form: they are passed over, and
  // where that cannot be, what has been read counts.
  bool whole = true;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == end) break;
      const auto byte = static_cast<uint8_t>(*at++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    whole = false;
    return uint64_t{0};
  };
  const auto take = [&](uint64_t size) {
    whole = whole && size <= static_cast<uint64_t>(end - at);
    const std::string_view text(at, whole ? size : 0);
    at += text.size();
    return text;
  };
  while (at != end) {
    const uint64_t tag = varint();
    const auto field = static_cast<int>(tag >> 3);
    if (field > Spec::kMinCpusFieldNumber) break;
    uint64_t value = 0;
    std::string_view text;
    switch (tag & 7) {
      case 0:
        value = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        text = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        whole = false;  // groups: there have never been any
    }
    if (!whole) break;
    const bool is_text = field == Spec::kNameFieldNumber || field == Spec::kAccountFieldNumber ||
                         field == Spec::kPartitionFieldNumber || field == Spec::kQosFieldNumber;
    if ((tag & 7) != (is_text ? 2 : 0)) continue;  // another form than the field's own: not that field
    switch (field) {
      case Spec::kNameFieldNumber:
        brief.name = text;
        break;
      case Spec::kAccountFieldNumber:
        brief.account = text;
        break;
      case Spec::kPartitionFieldNumber:
        brief.partition = text;
        break;
      case Spec::kQosFieldNumber:
        brief.qos = text;
        break;
      case Spec::kBeginTimeFieldNumber:
        brief.begin_time = static_cast<int64_t>(value);
        break;
      case Spec::kMinNodesFieldNumber:
        brief.min_nodes = static_cast<uint32_t>(value);
        break;
      case Spec::kMaxNodesFieldNumber:
        brief.max_nodes = static_cast<uint32_t>(value);
        break;
      case Spec::kNtasksFieldNumber:
        brief.ntasks = static_cast<uint32_t>(value);
        break;
      case Spec::kCpusPerTaskFieldNumber:
        brief.cpus_per_task = static_cast<uint32_t>(value);
        break;
      case Spec::kNtasksPerNodeFieldNumber:
        brief.ntasks_per_node = static_cast<uint32_t>(value);
        break;
      case Spec::kMinCpusFieldNumber:
        brief.min_cpus = static_cast<uint32_t>(value);
        break;
      case Spec::kExclusiveFieldNumber:
        brief.exclusive = value != 0;
        break;
      default:
        break;
    }
  }
  return brief;
}

bool asks_for_gpus(const model::JobSpec& spec) {
  const auto any = [](const auto& list) {
    return std::any_of(list.begin(), list.end(), [](const model::Gres& gres) {
      return (gres.name() == "gpu" || gres.name() == "shard") && gres.count() > 0;
    });
  };
  return any(spec.gpus()) || any(spec.gres_per_node()) || any(spec.gpus_per_task()) ||
         any(spec.gpus_per_socket());
}

Submission make_submission(uint32_t spec_id, const model::JobSpec& spec,
                           const std::string& default_partition) {
  Submission submission;
  submission.spec_id = spec_id;
  spec.SerializeToString(&submission.spec_bytes);
  std::string_view rest = spec.partition();
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (!name.empty()) submission.partitions.emplace_back(name);
  }
  if (submission.partitions.empty()) submission.partitions.push_back(default_partition);
  submission.uses_dependencies = spec.dependencies_size() > 0;
  submission.any_dependency = spec.dependency_any();
  submission.kill_on_invalid_dependency = spec.kill_on_invalid_dependency();
  submission.interactive = spec.interactive();
  submission.overcommit = spec.overcommit();
  submission.chooses_script_node = !spec.batch_features().empty();
  submission.deadline = spec.deadline();
  submission.warning_signal = spec.warning_signal().number();
  submission.warning_seconds = spec.warning_signal().seconds_before_end();
  submission.warning_batch_only = spec.warning_signal().batch_only();
  if (!spec.mail_type().empty()) submission.mail_types = text::parse_mail_types(spec.mail_type());
  return submission;
}

}  // namespace minke::engine
