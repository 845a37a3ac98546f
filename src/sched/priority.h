// Multifactor priority: a job's priority is a weighted sum of factors between 0 and 1, as in Slurm's
// priority/multifactor plugin. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace minke::sched {

struct PriorityWeights {
  std::uint32_t age = 0;
  std::uint32_t association = 0;
  std::uint32_t fair_share = 0;
  std::uint32_t job_size = 0;
  std::uint32_t partition = 0;
  std::uint32_t qos = 0;
  std::int64_t max_age = 7 * 24 * 3600;  // s, at which the age factor is 1; > 0
  bool favor_small = false;
};

// A TRES that the site has given a weight.
struct TresFactor {
  double weight = 0;
  double requested = 0;
  double available = 0;  // in the partition
};

struct PriorityFactors {
  std::int64_t eligible_seconds = 0;  // for how long it has been eligible; negative: not yet
  double association = 0;
  double fair_share = 0;
  std::uint32_t nodes = 0;
  std::uint32_t cpus = 0;
  std::uint32_t all_nodes = 0;  // of the cluster
  std::uint32_t all_cpus = 0;
  double partition = 0;  // PriorityJobFactor / the largest of all
  double qos = 0;        // priority / the largest of all
  std::vector<TresFactor> tres;
  std::int64_t nice = 0;
  std::int64_t admin = 0;
  std::int64_t site = 0;
};

// The columns of sprio.
struct PriorityParts {
  double age = 0;
  double association = 0;
  double fair_share = 0;
  double job_size = 0;
  double partition = 0;
  double qos = 0;
  double tres = 0;
  std::int64_t nice = 0;
  std::int64_t admin = 0;
  std::int64_t site = 0;
  // From 1 to 4294967295. It is never 0, which means that the job is held.
  std::uint32_t total() const;
};

PriorityParts priority_parts(const PriorityWeights& weights, const PriorityFactors& factors);

}  // namespace minke::sched
