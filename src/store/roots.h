// A note beside a database of where its tables begin: what its first page says, for the case that this page
// is damaged (rescue.h). The places depend on what the database held when each table was made.
//
// Written when a database is opened for writing, so its presence also tells that there was a database.
// Blocking.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "store/sqlite.h"

namespace minke::store {

struct Roots {
  int64_t schema = 0;
  std::map<std::string, uint64_t> pages;  // of tables and indexes, by name
};

std::string roots_path(const std::string& database);

Result<Roots> roots_of(Connection& connection);
// Writes the note, unless it is there as it should be.
Status note_roots(Connection& connection);
// Fails if there is no note, or it is damaged.
Result<Roots> noted_roots(const std::string& database);

}  // namespace minke::store
