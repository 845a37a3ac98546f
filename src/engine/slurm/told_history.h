// What happened to a Slurm with slurmdbd, from the lines of `sacctmgr show event` and `show transaction`,
// whose times are seconds since the epoch (SLURM_TIME_FORMAT=%s). Lines of another kind are passed over.
// Pure.
#pragma once

#include <string>
#include <vector>

namespace minke::api {
class HistoryReply;
}  // namespace minke::api

namespace minke::engine::slurm {

extern const char* const kEventColumns;
extern const char* const kTransactionColumns;

// Events of nodes; those of the whole cluster are left out.
void add_events(const std::vector<std::string>& lines, api::HistoryReply& reply);
void add_transactions(const std::vector<std::string>& lines, api::HistoryReply& reply);

}  // namespace minke::engine::slurm
