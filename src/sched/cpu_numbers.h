// CpuNumbers: which CPUs of a node each job has, as numbers within the node from 0 to CPUs - 1. The scheduler
// only counts CPUs, but users and their programs see numbers (CPU_IDs) that no two jobs of a node share.
//
// They are Slurm's abstract numbers. The launcher chooses the machine's CPUs that a job is bound to
// (node/cpu_pool.h), because several nodes may be declared on one machine. Jobs share numbers only if
// together they have more CPUs than the node: a suspended job lends its CPUs. Pure; owned by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace minke::sched {

class CpuNumbers {
 public:
  // Chooses `count` of the node's CPUs: the lowest free ones, then those with the fewest users. "0-1,4".
  std::string choose(const std::string& node, std::uint32_t cpus_of_node, std::uint32_t count) const;
  // Records that the job has these CPUs. Malformed numbers are ignored.
  void take(std::uint32_t job_id, const std::string& node, std::string_view numbers);
  void give_back(std::uint32_t job_id);  // everything that the job has

 private:
  struct Held {
    std::string node;
    std::vector<std::uint32_t> numbers;
  };
  std::unordered_map<std::string, std::vector<std::uint16_t>> uses_;  // by node; of each CPU. Looked up only
  std::unordered_map<std::uint32_t, std::vector<Held>> held_;         // by job; looked up only
};

}  // namespace minke::sched
