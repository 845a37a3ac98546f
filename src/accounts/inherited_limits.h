// Limits of accounts and users for each job or user: an unset one is inherited from the parent. Limits for
// all jobs together (Grp…) are not inherited, because the parent's count everybody's.
//
// Pure. AccountBook uses it for the limits of a job, scontrol for what it shows of an association.
#pragma once

namespace minke::model {
class Limits;
}  // namespace minke::model

namespace minke::accounts {

void inherit_limits(model::Limits& own, const model::Limits& above);

}  // namespace minke::accounts
