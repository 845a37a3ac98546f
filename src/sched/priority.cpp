#include "sched/priority.h"

#include <algorithm>

namespace minke::sched {
namespace {

double part_of(double some, double all) {
  return all > 0 ? std::clamp(some / all, 0.0, 1.0) : 0;
}

}  // namespace

PriorityParts priority_parts(const PriorityWeights& weights, const PriorityFactors& factors) {
  PriorityParts parts;
  parts.age = weights.age *
              part_of(static_cast<double>(factors.eligible_seconds), static_cast<double>(weights.max_age));
  parts.association = weights.association * std::clamp(factors.association, 0.0, 1.0);
  parts.fair_share = weights.fair_share * std::clamp(factors.fair_share, 0.0, 1.0);
  const double size =
      (part_of(factors.nodes, factors.all_nodes) + part_of(factors.cpus, factors.all_cpus)) / 2;
  parts.job_size = weights.job_size * (weights.favor_small ? 1 - size : size);
  parts.partition = weights.partition * std::clamp(factors.partition, 0.0, 1.0);
  parts.qos = weights.qos * std::clamp(factors.qos, 0.0, 1.0);
  for (const TresFactor& one : factors.tres) parts.tres += one.weight * part_of(one.requested, one.available);
  parts.nice = factors.nice;
  parts.admin = factors.admin;
  parts.site = factors.site;
  return parts;
}

std::uint32_t PriorityParts::total() const {
  const double sum = age + association + fair_share + job_size + partition + qos + tres +
                     static_cast<double>(admin + site - nice);
  return static_cast<std::uint32_t>(std::clamp(sum, 1.0, 4294967295.0));
}

}  // namespace minke::sched
