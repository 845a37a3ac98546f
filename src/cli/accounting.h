// minke accounting: moves the record of jobs from one cluster to another.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

// Both return the exit code. Messages go to standard error.

// Reads files that `sacct -P` or export_accounting() wrote, plain or gzip; "-": standard input. It writes
// into the database itself, so the daemon must not run, and only the owner of the database may do it. Jobs
// keep their numbers, and existing records stay unchanged, so that a file may be read again.
int import_accounting(const std::vector<std::string>& files);

// Forgets what ended before a time, in the words of sacct -S, like forget() of store/store.h. The daemon
// must not run either.
int purge_accounting(const std::string& before);

// Exports jobs from `since` to `until`, in the words of sacct -S and -E; empty: all. "-": to standard output.
struct ExportOptions {
  std::string file = "-";
  std::string since, until;
};
int export_accounting(const ExportOptions& options);

}  // namespace minke::cli
