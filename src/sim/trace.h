// Trace: the past jobs of a cluster, from the readers to the replays.
//
// Invariants: submissions ascend; `runs`, `asks` and `processors` are at least 1; runs <= asks; the
// names' indices are valid; a job follows only one with a lower id, so that there are no circles.
// Plain values; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minke::sim {

// Texts that many jobs share, numbered in the order of appearance.
class Names {
 public:
  std::uint32_t number_of(std::string_view name) {
    const auto [entry, is_new] =
        numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(entry->first);
    return entry->second;
  }
  const std::string& operator[](std::uint32_t number) const { return names_[number]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

inline constexpr std::uint32_t kNobody = 0xffffffff;

struct TraceJob {
  std::uint64_t id = 0;
  std::int64_t submit = 0;  // s
  std::int64_t runs = 0;    // s; its run time, at most what it asked for
  std::int64_t asks = 0;    // s; its time limit
  std::uint32_t processors = 0;
  std::uint32_t nodes = 0;       // 0: as few as possible
  std::uint32_t gpus = 0;        // in all
  std::uint64_t memory_mib = 0;  // in all; 0: not given
  std::uint32_t gpu_type = 0;    // these are indices in the trace's names
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint32_t account = 0;
  std::uint32_t partition = 0;
  std::uint32_t qos = 0;
  std::uint32_t follows = kNobody;  // index of the job whose end it waited for; kNobody: none
  std::int64_t think = -1;          // s from that end to its submission; negative: not known
};

struct Trace {
  std::vector<TraceJob> jobs;
  Names names;                   // number 0 is the empty name
  std::uint32_t processors = 0;  // of the machine, according to the trace; 0: not given
  std::uint64_t left_out = 0;    // jobs that never ran, or say too little to be replayed
  Trace() { names.number_of(""); }
};

}  // namespace minke::sim
