// Which of a node's CPUs each job has, by their numbers within the node: 0 to CPUs - 1. The scheduler counts
// CPUs; users and their programs are told numbers (CPU_IDs), which no two jobs of a node share.
//
// They are Slurm's abstract numbers: which of the machine's CPUs a job is bound to is the launcher's choice
// (node/cpu_pool.h), because several nodes may be declared on one machine. Numbers are shared only where a
// node's jobs together have more CPUs than it: those of a suspended job are lent. Pure; one thread.
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
  // Of a node with so many CPUs: the lowest ones that nobody has, or that the fewest have. "0-1,4".
  std::string choose(const std::string& node, std::uint32_t cpus_of_node, std::uint32_t count) const;
  // The job has these from now on. Malformed numbers are left out.
  void take(std::uint32_t job_id, const std::string& node, std::string_view numbers);
  void give_back(std::uint32_t job_id);  // all that it has, if any

 private:
  struct Held {
    std::string node;
    std::vector<std::uint32_t> numbers;
  };
  std::unordered_map<std::string, std::vector<std::uint16_t>> uses_;  // by node; of each CPU. Looked up only
  std::unordered_map<std::uint32_t, std::vector<Held>> held_;         // by job; looked up only
};

}  // namespace minke::sched
