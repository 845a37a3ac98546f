// Manual work on a database: copying one that is in use, going back to such a copy, and making a sound one
// from a damaged one. For commands: none needs the daemon, and all but the first require that it is stopped.
// Blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::store {

// Makes a consistent copy as of now, durable when it returns; 0600. The daemon may continue meanwhile. A
// daemon that starts from the copy treats jobs that ran then as lost: they may have ended since. Fails with
// EEXIST if there is such a file. Until it is whole it is called COPY.half.
Status back_up(const std::string& path, const std::string& copy);

// Puts a copy of it in the place of the database; returns where the database is kept that was there, or
// nothing if there was none. Fails, and changes nothing, if a daemon uses it (EBUSY), or if `copy` is not a
// sound database of this program or an earlier one.
Result<std::string> go_back_to(const std::string& path, const std::string& copy);

struct Repair {
  bool was_sound = false;         // its pages are, and nothing has been copied
  uint64_t rows = 0;              // copied
  std::vector<std::string> lost;  // in words: the rows that could not be read
  std::string kept_as;            // the damaged database
  // Rows that a daemon could not read and has set aside: they are kept, but not reported any more.
  std::vector<std::string> set_aside;
};

// Copies what can be read into a new database, which takes the place of the damaged one; the latter is kept
// beside it. Fails with EBUSY if a daemon uses it.
Result<Repair> repair(const std::string& path);

}  // namespace minke::store
