// A change of what the launcher knows: of the table, and of the journal beside it.
//
// Where the disk does not take a record, the table has it nevertheless, and what could not be written is
// made up for with the first record that can be: the whole table is written anew. One thread.
#pragma once

#include "base/result.h"
#include "node/journal.h"
#include "node/launch_table.h"

namespace minke::node {
class JournalRecord;
}  // namespace minke::node

namespace minke::node {

// The error is the journal's; a launcher that comes after this one would not know of the record.
Status record(const JournalRecord& record, Journal& journal, LaunchTable& table);

}  // namespace minke::node
