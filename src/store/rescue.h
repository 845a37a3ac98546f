// A copy of a database that SQLite refuses as a whole: its first page is damaged, or its end is missing.
//
// The first page says where each table begins. A new database's takes its place, with those places as they
// are noted beside the database (roots.h). Without a note, it is tried with the new database's own places,
// where all tables are that this schema has made. If pages of another kind are there, the database is left
// alone. Blocking; for repair.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace minke::store {

// Makes `copy`, with a log if `path` has one, and replaces an existing one. Adds to `lost`, in words, what
// the copy lacks. Fails if `path` is not a database of this program, or nothing of it is left.
Status make_readable_copy(const std::string& path, const std::string& copy, std::vector<std::string>& lost);

// Removes a database, its log and its index.
void remove_database(const std::string& path);

}  // namespace minke::store
