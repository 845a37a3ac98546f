#include "engine/embedded/job.h"

#include <algorithm>

#include "base/result.h"
#include "engine/embedded/owner_watch.h"

namespace minke::engine {

Details::Details() = default;
Details::~Details() = default;

model::JobSpec Submission::spec() const {
  model::JobSpec parsed;
  MINKE_CHECK(parsed.ParseFromString(spec_bytes));
  return parsed;
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

const model::NodeAllocation& script_node(const model::JobRecord& record) {
  const auto found = std::find_if(record.nodes().begin(), record.nodes().end(),
                                  [&](const auto& node) { return node.node() == record.batch_host(); });
  return found == record.nodes().end() ? record.nodes(0) : *found;
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

namespace {

uint64_t size_of(const model::IndexRange& range) {
  return (uint64_t{range.last()} - range.first()) / std::max(1u, range.step()) + 1;
}

model::IndexRange make_range(uint32_t first, uint32_t last, uint32_t step) {
  model::IndexRange range;
  range.set_first(first);
  range.set_last(last);
  range.set_step(step);
  return range;
}

}  // namespace

TaskSet::TaskSet(const model::ArraySpec& spec) : ranges_(spec.ranges().begin(), spec.ranges().end()) {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const auto& a, const auto& b) { return a.first() > b.first(); });
  for (auto& range : ranges_) {
    range.set_step(std::max(1u, range.step()));
    range.set_last(range.first() + static_cast<uint32_t>(size_of(range) - 1) * range.step());
    count_ += size_of(range);
  }
}

uint32_t TaskSet::first() const {
  MINKE_CHECK(count_ > 0);
  return ranges_.back().first();
}

uint32_t TaskSet::pop_first() {
  MINKE_CHECK(count_ > 0);
  // Ranges with steps may interleave (0-8:2 and 1-7:2): the one that begins lowest is at the back.
  model::IndexRange& range = ranges_.back();
  const uint32_t index = range.first();
  --count_;
  if (range.first() == range.last()) {
    ranges_.pop_back();
    return index;
  }
  range.set_first(index + range.step());
  for (size_t i = ranges_.size() - 1; i > 0 && ranges_[i].first() > ranges_[i - 1].first(); --i) {
    ranges_[i].Swap(&ranges_[i - 1]);
  }
  return index;
}

bool TaskSet::contains(uint32_t index) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) {
    return index >= range.first() && index <= range.last() && (index - range.first()) % range.step() == 0;
  });
}

bool TaskSet::remove(uint32_t index) {
  if (count_ > 0 && index == first()) {
    pop_first();
    return true;
  }
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const model::IndexRange range = ranges_[i];
    if (index < range.first() || index > range.last() || (index - range.first()) % range.step() != 0)
      continue;
    ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(i));
    --count_;
    const auto insert = [&](const model::IndexRange& rest) {
      const auto place = std::find_if(ranges_.begin(), ranges_.end(),
                                      [&](const auto& r) { return r.first() < rest.first(); });
      ranges_.insert(place, rest);
    };
    if (index > range.first()) insert(make_range(range.first(), index - range.step(), range.step()));
    if (index < range.last()) insert(make_range(index + range.step(), range.last(), range.step()));
    return true;
  }
  return false;
}

void TaskSet::write(model::ArraySpec& spec) const {
  spec.clear_ranges();
  for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) *spec.add_ranges() = *range;
}

}  // namespace minke::engine
