// Limits of accounts and users for each job or user: what is not set is the parent's. Those for all jobs
// together (Grp…) stay their own, because the parent's count everybody's.
//
// Pure. AccountBook asks it for what holds for a job, scontrol for what it shows of an association.
#pragma once

namespace minke::model {
class Limits;
}  // namespace minke::model

namespace minke::accounts {

void inherit_limits(model::Limits& own, const model::Limits& above);

}  // namespace minke::accounts
