// seff: how efficiently one job used its cores and memory.
#include "view/seff.h"
#include "engine/fetch.h"
#include "text/printable.h"
#include "view/colour.h"
#include "view/output.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

#include "api/accounting.pb.h"
#include "cli/commands.h"
#include "engine/measured_usage.h"
#include "engine/open.h"
#include "model/error.h"
#include "text/job_id.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr const char* kUsage =
    "Usage: seff [Options] <Jobid>\n"
    "       Options:\n"
    "       -h    Help menu\n"
    "       -v    Version\n"
    "       -d    Debug mode: display raw Slurm data\n";

// Chooses among the records that the id stands for: the job of this number, or else the
// first of its tasks.
const api::AccountedJob* choose(const engine::AccountingRecords& found, const text::JobReference& wanted) {
  const api::AccountedJob* chosen = nullptr;
  for (const api::AccountedJob* job : found.records) {
    bool exact = job->job().job_id() == wanted.job_id && wanted.tasks.ranges().empty();
    if (chosen == nullptr || exact) chosen = job;
  }
  return chosen;
}

}  // namespace

int seff_main(int argc, char** argv) {
  std::string_view argument;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "-v") {
      view::write_out("seff Version 2.1\n");
      return 1;
    }
    if (word == "-h" || !argument.empty() || (word.starts_with('-') && word != "-d")) {
      view::write_out(kUsage);
      return 1;
    }
    if (word != "-d") argument = word;
  }
  if (argument.empty()) {
    view::write_out(kUsage);
    return 1;
  }
  auto wanted = text::parse_job_id(argument);
  if (!wanted) {
    std::fputs("Job not found.\n", stderr);
    return 2;
  }
  auto cluster = engine::open();
  if (!cluster) {
    std::fprintf(stderr, "seff: error: %s\n", cluster.error().message.c_str());
    return 1;
  }
  api::QueryAccountingRequest query;
  *query.mutable_filter()->add_jobs() = engine::selector_of(*wanted);
  query.mutable_filter()->set_all_states(true);
  query.set_with_steps(true);
  auto found = engine::fetch_accounting(**cluster, query);
  if (!found && found.error().code != model::kInvalidJobId) {
    std::fprintf(stderr, "seff: error: %s\n", found.error().message.c_str());
    return 1;
  }
  const api::AccountedJob* job = found ? choose(*found, *wanted) : nullptr;
  if (job == nullptr) {
    std::fputs("Job not found.\n", stderr);
    return 2;
  }
  view::DisplayContext context;
  context.now = found->now != 0 ? found->now : std::time(nullptr);
  context.cluster_name = engine::fetch_cluster_name(**cluster);
  api::AccountedJob shown = *job;
  engine::add_what_is_measured(**cluster, shown);
  const std::string note = engine::add_what_was_measured(**cluster, shown);
  // Programs read what Slurm's seff prints; people see bars, too.
  const std::string report = view::seff_report(shown, context);
  if (::isatty(STDOUT_FILENO) == 1 || view::has_colour()) {
    view::write_bytes(view::with_bars(text::printable_lines(report)));
    view::write_out(note);
  } else {
    view::write_out(report + note);
  }
  return 0;
}

}  // namespace minke::cli
