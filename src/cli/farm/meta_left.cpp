// What is left of a META farm: by STATUSES, and by the records of the workers of all of its runs. A case
// whose script was killed, or left before its last line, has no line in STATUSES.
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/farm/meta_directory.h"
#include "farm/retry_rule.h"
#include "farming/farm_directory.h"
#include "farming/journal.h"
#include "text/number.h"

namespace minke::cli {
namespace {

struct Past {
  bool ended = false;
  uint32_t cut_short = 0;  // times
};
struct Record {
  std::map<std::string, Past> cases;  // by their numbers in the table
  uint32_t idle_runs = 0;
};

bool is_own_end(farm::Ending ending) {
  return ending == farm::Ending::kExited || ending == farm::Ending::kSignalled ||
         ending == farm::Ending::kOutOfMemory || ending == farm::Ending::kNotStarted;
}

Status add_run(const std::string& directory, Record& record) {
  const auto content = read_farm_file(directory + "/table.dat");
  if (!content) return failure(content.error());
  const auto table = farm::read_meta_table(*content, directory + "/table.dat");
  if (!table) return failure(table.error());
  auto journal = farming::Journal::open(directory);
  if (!journal) return failure(journal.error());
  const auto states = farming::case_states(*journal);
  if (!states) return failure(states.error());
  const farm::Ledger& ledger = journal->ledger();
  record.idle_runs = ledger.fresh() == ledger.cases() ? record.idle_runs + 1 : 0;
  for (size_t i = 0; i < std::min(states->size(), table->ids.size()); ++i) {
    const farming::CaseState& state = (*states)[i];
    if (!state.ended) continue;
    Past& past = record.cases[table->ids[i]];
    past.ended = past.ended || is_own_end(state.outcome.ending);
    past.cut_short += is_own_end(state.outcome.ending) ? 0 : 1;
  }
  return {};
}

// Of all runs up to this one. A run whose directory somebody has removed says nothing.
Result<Record> read_record(const MetaRun& last) {
  Record record;
  MetaRun run;
  for (run.number = 1; run.number <= last.number; ++run.number) {
    struct stat info {};
    if (::stat(run.directory().c_str(), &info) != 0) continue;
    if (const Status added = add_run(run.directory(), record); !added) return failure(added.error());
  }
  return record;
}

// N_failed_max of config.h; where that says nothing, as often as any farm runs again what was lost.
uint32_t patience() {
  const auto content = read_farm_file("config.h");
  const auto config =
      content ? farm::read_meta_config(*content) : Result<farm::MetaConfig>(farm::MetaConfig());
  const uint32_t most = config ? config->n_failed_max : 0;
  return most > 0 ? most : farm::kMostRunsOfLost;
}

}  // namespace

Result<MetaLeft> read_left(const MetaRun& run) {
  const auto content = read_farm_file("table.dat");
  if (!content) return failure("File table.dat doesn't exist. Exiting");
  const auto table = farm::read_meta_table(*content, "table.dat");
  if (!table) return failure(table.error());
  const auto statuses = read_statuses();
  if (!statuses) return failure(statuses.error());
  const auto record = read_record(run);
  if (!record) return failure(record.error());
  MetaLeft left;
  left.all = table->ids.size();
  left.idle_runs = record->idle_runs;
  left.patience = patience();
  const std::vector<std::string_view> lines = text::split(table->content, '\n');
  for (size_t i = 0; i < table->ids.size(); ++i) {
    const auto status = statuses->of.find(table->ids[i]);
    if (status != statuses->of.end() && status->second == 0) continue;
    left.table.append(lines[i]).append("\n");
    ++left.cases;
    const auto found = record->cases.find(table->ids[i]);
    const Past past = found == record->cases.end() ? Past() : found->second;
    const bool is_hopeless = past.cut_short >= left.patience;
    if (status == statuses->of.end() && !past.ended && !is_hopeless) ++left.never_ended;
    if (is_hopeless) continue;
    left.hopeful_table.append(lines[i]).append("\n");
    ++left.hopeful;
  }
  return left;
}

}  // namespace minke::cli
