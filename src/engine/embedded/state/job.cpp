#include "engine/embedded/state/job.h"

#include <algorithm>

#include "base/result.h"
#include "engine/embedded/watching/owner_watch.h"
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

namespace {

// Reads a serialised message field by field. A message of an older daemon may have unknown fields of any
// form. They are skipped; if that is impossible, what was read so far counts.
class WireReader {
 public:
  enum Form { kNumber = 0, kFixed64 = 1, kText = 2, kFixed32 = 5 };

  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  // False at the end, or if it cannot be read further.
  bool next() {
    if (at_ == end_) return false;
    const uint64_t tag = varint();
    field = static_cast<int>(tag >> 3);
    form = static_cast<int>(tag & 7);
    switch (form) {
      case kNumber:
        number = varint();
        break;
      case kFixed64:
        take(8);
        break;
      case kText:
        text = take(varint());
        break;
      case kFixed32:
        take(4);
        break;
      default:
        whole_ = false;  // groups, which never existed here
    }
    return whole_;
  }

  int field = 0, form = 0;
  uint64_t number = 0;    // of form kNumber
  std::string_view text;  // of form kText

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const auto byte = static_cast<uint8_t>(*at_++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    whole_ = false;
    return 0;
  }
  std::string_view take(uint64_t size) {
    whole_ = whole_ && size <= static_cast<uint64_t>(end_ - at_);
    const std::string_view taken(at_, whole_ ? size : 0);
    at_ += taken.size();
    return taken;
  }

  const char* at_;
  const char* end_;
  bool whole_ = true;
};

// Null: the field is none of these texts.
std::string_view* text_of(BriefSpec& brief, int field) {
  using Spec = model::JobSpec;
  switch (field) {
    case Spec::kNameFieldNumber:
      return &brief.name;
    case Spec::kAccountFieldNumber:
      return &brief.account;
    case Spec::kPartitionFieldNumber:
      return &brief.partition;
    case Spec::kQosFieldNumber:
      return &brief.qos;
    default:
      return nullptr;
  }
}

uint32_t* count_of(BriefSpec& brief, int field) {
  using Spec = model::JobSpec;
  switch (field) {
    case Spec::kMinNodesFieldNumber:
      return &brief.min_nodes;
    case Spec::kMaxNodesFieldNumber:
      return &brief.max_nodes;
    case Spec::kNtasksFieldNumber:
      return &brief.ntasks;
    case Spec::kCpusPerTaskFieldNumber:
      return &brief.cpus_per_task;
    case Spec::kNtasksPerNodeFieldNumber:
      return &brief.ntasks_per_node;
    case Spec::kMinCpusFieldNumber:
      return &brief.min_cpus;
    default:
      return nullptr;
  }
}

}  // namespace

// Reads protobuf's wire form directly, because parsing into a message costs many times as much. The wanted
// fields have low numbers, and fields are written in the order of their numbers.
BriefSpec Submission::brief_spec() const {
  using Spec = model::JobSpec;
  BriefSpec brief;
  brief.overcommit = overcommit;
  for (WireReader wire(spec_bytes); wire.next() && wire.field <= Spec::kMinCpusFieldNumber;) {
    // A field with an unexpected form is ignored.
    if (std::string_view* text = text_of(brief, wire.field)) {
      if (wire.form == WireReader::kText) *text = wire.text;
    } else if (wire.form != WireReader::kNumber) {
      continue;
    } else if (uint32_t* count = count_of(brief, wire.field)) {
      *count = static_cast<uint32_t>(wire.number);
    } else if (wire.field == Spec::kBeginTimeFieldNumber) {
      brief.begin_time = static_cast<int64_t>(wire.number);
    } else if (wire.field == Spec::kExclusiveFieldNumber) {
      brief.exclusive = wire.number != 0;
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
  submission.cron = spec.cron().spec();
  constexpr uint32_t kLastSignal = 64;  // a job may ask for one that there is not: nothing is sent
  const uint32_t asked = spec.warning_signal().number();
  submission.warning_signal = asked > kLastSignal ? 0 : asked;
  submission.warning_seconds = spec.warning_signal().seconds_before_end();
  submission.warning_batch_only = spec.warning_signal().batch_only();
  if (!spec.mail_type().empty()) submission.mail_types = text::parse_mail_types(spec.mail_type());
  return submission;
}

}  // namespace minke::engine
