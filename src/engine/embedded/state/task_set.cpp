#include "engine/embedded/state/task_set.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/job_terms.pb.h"

namespace minke::engine {

// Makes a set from ascending indices, given one by one or as runs.
class TaskSet::Builder {
 public:
  void add(uint32_t index) {
    if (members_ == 0) {
      first_ = last_ = index;
      members_ = 1;
    } else if (members_ == 1) {
      step_ = index - last_;
      last_ = index;
      members_ = 2;
    } else if (index - last_ == step_) {
      last_ = index;
      ++members_;
    } else if (members_ == 2 && step_ != 1) {  // "1,5" is no run
      put(first_, first_, 1);
      first_ = last_;
      step_ = index - last_;
      last_ = index;
    } else {
      finish();
      add(index);
    }
  }

  void add_run(uint32_t first, uint32_t last, uint32_t step) {
    if (step != 1) {
      finish();
      put(first, last, step);
      return;
    }
    // After three members, this becomes a run of its own.
    for (uint64_t index = first; index <= last; ++index) {
      if (index - first == 3) {
        members_ += last - index + 1;
        last_ = last;
        return;
      }
      add(static_cast<uint32_t>(index));
    }
  }

  TaskSet take() {
    finish();
    return std::move(set_);
  }

 private:
  void finish() {
    if (members_ == 2 && step_ != 1) {
      put(first_, first_, 1);
      put(last_, last_, 1);
    } else if (members_ != 0) {
      put(first_, last_, members_ == 1 ? 1 : step_);
    }
    members_ = 0;
  }
  void put(uint32_t first, uint32_t last, uint32_t step) {
    const Run run{last, step};
    set_.runs_.emplace_hint(set_.runs_.end(), first, run);
    set_.count_ += size_of(first, run);
  }

  TaskSet set_;
  uint32_t first_ = 0, last_ = 0, step_ = 1;
  uint64_t members_ = 0;
};

bool TaskSet::is_bearable(const google::protobuf::RepeatedPtrField<model::IndexRange>& ranges, uint32_t limit,
                          uint64_t most) {
  uint64_t count = 0;
  for (const model::IndexRange& range : ranges) {
    if (range.last() < range.first() || range.last() >= limit) return false;
    count += size_of(range.first(), {range.last(), std::max(1u, range.step())});
    if (count > most) return false;
  }
  return true;
}

TaskSet::TaskSet(const google::protobuf::RepeatedPtrField<model::IndexRange>& ranges) {
  struct Given {
    uint32_t first, last, step;
  };
  std::vector<Given> given;
  for (const model::IndexRange& range : ranges) {
    if (range.last() < range.first()) continue;
    const uint32_t step = std::max(1u, range.step());
    given.push_back({range.first(), range.last() - (range.last() - range.first()) % step, step});
  }
  std::sort(given.begin(), given.end(), [](const Given& a, const Given& b) { return a.first < b.first; });
  Builder builder;
  for (size_t i = 0; i < given.size();) {
    // Takes as many ranges as overlap.
    uint32_t last = given[i].last;
    bool solid = given[i].step == 1;
    size_t end = i + 1;
    for (; end < given.size() && given[end].first <= last; ++end) {
      last = std::max(last, given[end].last);
      solid = solid && given[end].step == 1;
    }
    if (end == i + 1) {
      builder.add_run(given[i].first, given[i].last, given[i].step);
    } else if (solid) {
      builder.add_run(given[i].first, last, 1);
    } else {
      std::vector<bool> members(size_t{last} - given[i].first + 1);
      for (size_t one = i; one < end; ++one) {
        for (uint64_t index = given[one].first; index <= given[one].last; index += given[one].step)
          members[index - given[i].first] = true;
      }
      for (size_t offset = 0; offset < members.size(); ++offset)
        if (members[offset]) builder.add(given[i].first + static_cast<uint32_t>(offset));
    }
    i = end;
  }
  *this = builder.take();
}

uint32_t TaskSet::first() const {
  MINKE_CHECK(count_ > 0);
  return runs_.begin()->first;
}

uint32_t TaskSet::pop_first() {
  const uint32_t index = first();
  const Run run = runs_.begin()->second;
  runs_.erase(runs_.begin());
  --count_;
  if (index != run.last) runs_.emplace_hint(runs_.begin(), index + run.step, run);
  return index;
}

TaskSet::Runs::const_iterator TaskSet::run_of(uint32_t index) const {
  auto after = runs_.upper_bound(index);
  if (after == runs_.begin()) return runs_.end();
  const auto run = std::prev(after);
  const bool in = index <= run->second.last && (index - run->first) % run->second.step == 0;
  return in ? run : runs_.end();
}

bool TaskSet::contains(uint32_t index) const {
  return run_of(index) != runs_.end();
}

bool TaskSet::remove(uint32_t index) {
  const auto found = run_of(index);
  if (found == runs_.end()) return false;
  const auto [first, run] = *found;
  runs_.erase(found);
  --count_;
  if (index > first) runs_.emplace(first, Run{index - run.step, run.step});
  if (index < run.last) runs_.emplace(index + run.step, run);
  return true;
}

TaskSet TaskSet::take(const TaskSet& chosen) {
  Builder taken, left;
  auto other = chosen.runs_.begin();
  for (const auto& [first, run] : runs_) {
    if (other != chosen.runs_.end() && other->second.last < first) {
      other = chosen.runs_.upper_bound(first);
      if (std::prev(other)->second.last >= first) --other;
    }
    uint64_t next = first;  // the lowest index of this run that was not handled yet
    for (; other != chosen.runs_.end() && other->first <= run.last && next <= run.last; ++other) {
      const auto& [other_first, other_run] = *other;
      const uint32_t end = std::min(run.last, other_run.last);
      if (run.step == 1 && other_run.step == 1) {
        const auto from = static_cast<uint32_t>(std::max<uint64_t>(next, other_first));
        if (from > next) left.add_run(static_cast<uint32_t>(next), from - 1, 1);
        taken.add_run(from, end, 1);
        next = uint64_t{end} + 1;
      } else {
        for (; next <= end; next += run.step) {
          const bool both = next >= other_first && (next - other_first) % other_run.step == 0;
          (both ? taken : left).add(static_cast<uint32_t>(next));
        }
      }
      if (other_run.last > run.last) break;  // it may continue in the next run
    }
    if (next > run.last) continue;
    if (next == first) {
      left.add_run(first, run.last, run.step);
    } else if (run.step == 1) {
      left.add_run(static_cast<uint32_t>(next), run.last, 1);
    } else {
      for (; next <= run.last; next += run.step) left.add(static_cast<uint32_t>(next));
    }
  }
  TaskSet result = taken.take();
  if (!result.empty()) *this = left.take();
  return result;
}

void TaskSet::add(const TaskSet& others) {
  model::ArraySpec own, more;
  write(own);
  others.write(more);
  own.mutable_ranges()->MergeFrom(more.ranges());
  *this = TaskSet(own);
}

void TaskSet::write(model::ArraySpec& spec) const {
  spec.clear_ranges();
  for (const auto& [first, run] : runs_) {
    model::IndexRange& range = *spec.add_ranges();
    range.set_first(first);
    range.set_last(run.last);
    range.set_step(run.step);
  }
}

}  // namespace minke::engine
