// Records a change of the launcher's knowledge, in the table and in the journal.
//
// If the disk refuses a record, the table changes all the same. The first later record that can be written
// then rewrites the whole table to the journal. One thread.
#pragma once

#include "base/result.h"
#include "node/journal.h"
#include "node/launch_table.h"

namespace minke::node {
class JournalRecord;
}  // namespace minke::node

namespace minke::node {

// Errors: the journal's. After one, a launcher that is started later would not know of the record.
Status record(const JournalRecord& record, Journal& journal, LaunchTable& table);

}  // namespace minke::node
