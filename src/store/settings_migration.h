// From schema 3 to 4: what stood in one table of names and bytes, "trigger 0000000007", becomes rows of
// tables.
//
// Part of a released migration: it names tables and settings as they were then, and stays as it is.
#pragma once

#include "base/result.h"
#include "store/sqlite.h"

namespace minke::store {

// Inside the migration's transaction. What is of no known kind, or cannot be read, is set aside.
Status move_settings(Connection& connection);

}  // namespace minke::store
