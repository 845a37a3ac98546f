// sacct: shows jobs and their steps from the accounting record. Reads its options, fetches, prints.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "cli/commands.h"
#include "cli/document_output.h"
#include "cli/sacct_options.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/step_record.pb.h"
#include "text/number.h"
#include "text/timestamp.h"
#include "view/output.h"
#include "view/sacct.h"
#include "view/text.h"

namespace minke::cli {
namespace {

api::QueryAccountingRequest query_of(const SacctOptions& options) {
  const view::SacctQuestion& question = options.question;
  api::QueryAccountingRequest query;
  api::JobFilter& filter = *query.mutable_filter();
  for (const api::JobSelector& job : question.jobs) *filter.add_jobs() = job;
  for (const view::SacctStep& step : question.steps) *filter.add_jobs() = step.job;
  if (!options.all_users && options.uids.empty() && getuid() != 0) {
    filter.add_uids(getuid());
  } else if (!options.all_users) {
    filter.mutable_uids()->Add(options.uids.begin(), options.uids.end());
  }
  filter.mutable_names()->Add(question.names.begin(), question.names.end());
  filter.mutable_accounts()->Add(question.accounts.begin(), question.accounts.end());
  filter.set_all_states(true);
  query.set_from(question.from);
  query.set_until(question.until == 0 ? 0 : question.until + 1);  // also jobs of this very second
  query.set_with_steps(!question.allocations_only);
  // For a job that nobody named, the last run shown may be an earlier one: sacct_lines() chooses.
  const bool named = !question.jobs.empty() || !question.steps.empty();
  query.set_duplicates(options.duplicates || !named);
  return query;
}

// Behaves like a Slurm that does not store environments, because they may hold secrets.
int print_environments(const SacctOptions& options) {
  for (const api::JobSelector& job : options.question.jobs)
    view::write_out("Environment used for " + std::to_string(job.job_id()) + " (must be batch to display)\n" +
                    std::string(80, '-') + "\nNONE\n\n");
  return 0;
}

int print_scripts(engine::Engine& cluster, const SacctOptions& options) {
  for (const api::JobSelector& job : options.question.jobs) {
    const auto script = cluster.script(job.job_id());
    if (!script) continue;  // the job is unknown
    std::string title = "Batch Script for " + std::to_string(job.job_id());
    view::write_out(title + "\n" + std::string(80, '-') + "\n" + *script +
                    (script->ends_with('\n') ? "" : "\n"));
  }
  return 0;
}

std::vector<const api::AccountedJob*> of_groups(const engine::AccountingRecords& records,
                                                const std::vector<uint32_t>& gids) {
  std::vector<const api::AccountedJob*> jobs;
  for (const api::AccountedJob* job : records.records)
    if (gids.empty() || std::find(gids.begin(), gids.end(), job->job().gid()) != gids.end())
      jobs.push_back(job);
  return jobs;
}

void print_rows(const std::vector<view::SacctLine>& lines, const SacctOptions& options,
                const std::vector<view::SacctColumn>& columns, const view::SacctContext& context) {
  std::string out;
  if (!options.no_header)
    append_print_header<view::SacctField>(columns, options.layout, options.delimiter, out);
  for (const view::SacctLine& line : lines) {
    append_print_line<view::SacctField>(columns, options.layout, options.delimiter, line, context, out);
    if (out.size() > (1 << 20)) {
      view::write_out(out);
      out.clear();
    }
  }
  view::write_out(out);
}

void print_document(const std::vector<view::SacctLine>& lines, view::DocumentFormat format,
                    const view::DocumentOrigin& origin, const view::DisplayContext& context) {
  DocumentOutput output(format, origin, view::answer::kAccountedJobs);
  output.document().begin_array("jobs");
  for (size_t i = 0; i < lines.size();) {
    const api::AccountedJob* accounted = lines[i].accounted;
    std::vector<const model::StepRecord*> steps;
    for (; i < lines.size() && lines[i].accounted == accounted; ++i)
      if (lines[i].step != nullptr) steps.push_back(lines[i].step);
    view::describe_accounted_job(output.document(), accounted->job(), steps, context);
    output.flush_if_long();
  }
  output.document().end();
  output.finish(context);
}

bool names_cluster(const std::vector<std::string>& clusters, const std::string& name) {
  return clusters.empty() || std::any_of(clusters.begin(), clusters.end(), [&](const std::string& one) {
           return one == name || text::equals_ignoring_case(one, "all") || one == "-1";
         });
}

}  // namespace

int sacct_main(int argc, char** argv) {
  SacctOptions options;
  const view::DocumentOrigin origin = view::document_origin(argc, argv);
  if (std::optional<int> status = read_sacct_arguments(argc, argv, options)) return *status;
  view::SacctQuestion& question = options.question;
  // In Slurm's words, which its users look for: accounting is on.
  if (options.verbose)
    std::fputs("sacct: accounting_storage/slurmdbd: init: Accounting storage SLURMDBD plugin loaded\n",
               stderr);
  const int64_t now = std::time(nullptr);
  if (Status status = set_sacct_window(options, now, question); !status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  if (question.until != 0 && question.from > question.until) {
    view::print_error("sacct", "Start time (" + text::format_time(question.from) +
                                   ") requested is after end time (" + text::format_time(question.until) +
                                   ").");
    return 1;
  }
  auto columns = view::parse_print_format(view::sacct_fields(), view::before_empty_field(options.format));
  if (!columns) return report_sacct(Error{0, columns.error().message});

  auto cluster = engine::open();
  if (!cluster) return report_sacct(Error{0, cluster.error().message});
  if ((options.batch_script || options.environment) && question.jobs.empty())
    return report_sacct(Error{kSacctFatal, "You must specify at least one job with -j"});
  if (options.batch_script) return print_scripts(**cluster, options);
  if (options.environment) return print_environments(options);
  auto records = engine::fetch_accounting(**cluster, query_of(options));
  if (!records && records.error().code != model::kInvalidJobId)
    return report_sacct(Error{0, records.error().message});

  view::SacctContext context;
  context.display = view::display_context_from_environment();
  context.display.now = records && records->now != 0 ? records->now : now;
  context.display.convert_units = !options.no_convert;
  context.display.expand_patterns = options.expand_patterns;
  context.display.cluster_name = engine::fetch_cluster_name(**cluster);
  context.unit = options.unit;
  const engine::AccountingRecords nothing;
  const bool here = names_cluster(options.clusters, context.display.cluster_name);
  const auto lines =
      view::sacct_lines(of_groups(here && records ? *records : nothing, options.gids), question);
  if (options.document) {
    print_document(lines, *options.document, origin, context.display);
  } else {
    print_rows(lines, options, *columns, context);
  }
  return 0;
}

}  // namespace minke::cli
