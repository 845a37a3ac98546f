// Migrates schema 3 to 4: entries of one table of names and bytes, "trigger 0000000007",
// become rows of tables.
//
// Part of a released migration: it names tables and settings as they were then, and stays as it is.
#pragma once

#include "base/result.h"
#include "store/sqlite.h"

namespace minke::store {

// Runs within the migration's transaction. Sets aside entries of an unknown kind, and unreadable ones.
Status move_settings(Connection& connection);

}  // namespace minke::store
