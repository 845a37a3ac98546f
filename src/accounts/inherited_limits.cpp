#include "accounts/inherited_limits.h"

#include <algorithm>

#include "model/accounts.pb.h"

namespace minke::accounts {
namespace {

void inherit(google::protobuf::RepeatedPtrField<model::Tres>& own,
             const google::protobuf::RepeatedPtrField<model::Tres>& above) {
  for (const model::Tres& limit : above) {
    const bool known =
        std::any_of(own.begin(), own.end(), [&](const auto& one) { return one.name() == limit.name(); });
    if (!known) *own.Add() = limit;
  }
}

}  // namespace

void inherit_limits(model::Limits& own, const model::Limits& above) {
  if (!own.has_max_jobs() && above.has_max_jobs()) own.set_max_jobs(above.max_jobs());
  if (!own.has_max_jobs_accrue() && above.has_max_jobs_accrue())
    own.set_max_jobs_accrue(above.max_jobs_accrue());
  if (!own.has_max_submit_jobs() && above.has_max_submit_jobs())
    own.set_max_submit_jobs(above.max_submit_jobs());
  if (!own.has_max_wall() && above.has_max_wall()) own.set_max_wall(above.max_wall());
  if (!own.has_min_priority() && above.has_min_priority()) own.set_min_priority(above.min_priority());
  inherit(*own.mutable_max_tres(), above.max_tres());
  inherit(*own.mutable_max_tres_per_node(), above.max_tres_per_node());
  inherit(*own.mutable_max_tres_mins(), above.max_tres_mins());
}

}  // namespace minke::accounts
