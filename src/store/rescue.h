// A copy of a database that SQLite refuses as a whole: its first page is damaged, or its end is missing.
//
// The first page says where each table begins. Every database that this schema has made says the same there,
// so a new one's may take its place. A database that was migrated from an earlier schema has its tables
// elsewhere: pages of another kind are at those places then, and it is left alone. Blocking; for repair.h.
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
