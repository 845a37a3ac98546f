// What is done to a database by hand: a copy of one that is in use, and a sound one made of a damaged one.
// For commands: neither needs the daemon, and the second wants it stopped. Blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::store {

// Makes a consistent copy as of now, durable when it returns; 0600. The daemon may go on meanwhile. A daemon
// that starts from the copy takes what ran then for lost: it may have ended since. Fails with EEXIST if there
// is such a file.
Status back_up(const std::string& path, const std::string& copy);

struct Repair {
  bool was_sound = false;         // its pages, and nothing has been copied
  uint64_t rows = 0;              // copied
  std::vector<std::string> lost;  // in words: which rows could not be read
  std::string kept_as;            // the damaged database
  // What a daemon could not read and has set aside: it is kept, and not reported any more.
  std::vector<std::string> set_aside;
};

// Copies what can be read into a new database, which takes the place of the damaged one; that one is kept
// beside it. Errors: EBUSY where a daemon uses it.
Result<Repair> repair(const std::string& path);

}  // namespace minke::store
