// minke accounting: the record of jobs, taken from one cluster to another.
#pragma once

#include <string>
#include <vector>

namespace minke::cli {

// The exit codes. Messages go to standard error.

// Files that `sacct -P` or export_accounting() wrote, plain or gzip; "-": standard input. Written into the
// database itself, so the daemon must not run: who may do it is whose the database is. Jobs keep their
// numbers, and what is here already is left as it is, so that a file may be read again.
int import_accounting(const std::vector<std::string>& files);

// Forgets what ended before a time, in the words of sacct -S, as store/store.h's forget() has it. The daemon
// must not run either.
int purge_accounting(const std::string& before);

// Of jobs from `since` to `until`, in the words of sacct -S and -E; empty: all. "-": to standard output.
struct ExportOptions {
  std::string file = "-";
  std::string since, until;
};
int export_accounting(const ExportOptions& options);

}  // namespace minke::cli
