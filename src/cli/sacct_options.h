// The command line and the environment of sacct. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/memory.h"
#include "view/document/document.h"
#include "view/sacct.h"

namespace minke::cli {

struct SacctOptions {
  view::SacctQuestion question;
  std::string format;
  view::PrintLayout layout = view::PrintLayout::kFixed;
  std::string delimiter = "|";
  std::optional<std::string> from, until;
  std::vector<uint32_t> uids, gids;
  std::optional<text::Unit> unit;
  bool all_users = false;
  bool no_convert = false;
  bool no_header = false;
  bool duplicates = false;
  bool batch_script = false;
  bool environment = false;  // --env-vars
  bool verbose = false;
  bool expand_patterns = false;
  std::vector<std::string> clusters;  // empty: all
  std::optional<view::DocumentFormat> document;
};

// The code of errors that Slurm calls fatal.
constexpr int kSacctFatal = 1;
// Prints "sacct: error: ..." or "sacct: fatal: ..." on stderr. Returns the exit status.
int report_sacct(const Error& error);

// Reads SACCT_FORMAT and the command line; returns an exit status where the command ends (--help, an error).
std::optional<int> read_sacct_arguments(int argc, char** argv, SacctOptions& options);
// Sets the time window of the question, with the defaults that follow from --jobs and --state.
Status set_sacct_window(const SacctOptions& options, int64_t now, view::SacctQuestion& question);

}  // namespace minke::cli
