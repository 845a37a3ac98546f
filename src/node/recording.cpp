#include "node/recording.h"

#include "node/journal.pb.h"

namespace minke::node {

Status record(const JournalRecord& record, Journal& journal, LaunchTable& table) {
  table.apply(record);
  // A full disk may have no room for another file but still take a record.
  if (journal.incomplete() && journal.rewrite(table.records())) return {};
  return journal.append(record);
}

}  // namespace minke::node
