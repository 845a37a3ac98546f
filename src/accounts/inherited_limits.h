// Inheritance of limits in the tree of accounts: an unset limit per job or user comes from the parent. Limits
// on all jobs together (Grp…) are not inherited: the parent's limit already counts everybody's jobs.
//
// Pure. AccountBook uses it for the limits of a job, and scontrol for the limits that it shows.
#pragma once

namespace minke::model {
class Limits;
}  // namespace minke::model

namespace minke::accounts {

void inherit_limits(model::Limits& own, const model::Limits& above);

}  // namespace minke::accounts
