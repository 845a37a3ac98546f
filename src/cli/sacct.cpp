// sacct: what became of jobs and their steps, from the accounting record. Reads its options, fetches, prints.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/display_fetch.h"
#include "cli/display_sacct.h"
#include "cli/display_sacct_options.h"
#include "model/error.h"
#include "text/timestamp.h"

namespace minke::cli {
namespace {

rpc::QueryAccountingRequest query_of(const SacctOptions& options) {
  const SacctQuestion& question = options.question;
  rpc::QueryAccountingRequest query;
  rpc::JobFilter& filter = *query.mutable_filter();
  for (const rpc::JobSelector& job : question.jobs) *filter.add_jobs() = job;
  for (const SacctStep& step : question.steps) *filter.add_jobs() = step.job;
  if (!options.all_users && options.uids.empty() && getuid() != 0) {
    filter.add_uids(getuid());
  } else if (!options.all_users) {
    filter.mutable_uids()->Add(options.uids.begin(), options.uids.end());
  }
  filter.mutable_names()->Add(question.names.begin(), question.names.end());
  filter.mutable_accounts()->Add(question.accounts.begin(), question.accounts.end());
  filter.set_all_states(true);
  query.set_from(question.from);
  query.set_until(question.until == 0 ? 0 : question.until + 1);  // jobs of this very second too
  query.set_with_steps(!question.allocations_only);
  query.set_duplicates(options.duplicates);
  return query;
}

int print_scripts(Client& client, const SacctOptions& options) {
  if (options.question.jobs.empty())
    return report_sacct(Error{kSacctFatal, "You must specify at least one job with -j"});
  for (const rpc::JobSelector& job : options.question.jobs) {
    rpc::ClientMessage request;
    request.mutable_query_script()->set_job_id(job.job_id());
    auto answer = client.call(request);
    std::string title = "Batch Script for " + std::to_string(job.job_id());
    write_out(title + "\n" + std::string(80, '-') + "\n" +
              (answer && answer->has_script() ? answer->script().script() : std::string("NONE")) + "\n");
  }
  return 0;
}

void append_rows(const AccountingRecords& records, const SacctOptions& options,
                 const std::vector<SacctColumn>& columns, const SacctContext& context) {
  std::vector<const rpc::AccountedJob*> jobs;
  for (const rpc::AccountedJob* job : records.records) {
    bool of_group = options.gids.empty();
    for (uint32_t gid : options.gids) of_group = of_group || gid == job->job().gid();
    if (of_group) jobs.push_back(job);
  }
  std::string out;
  if (!options.no_header) append_sacct_header(columns, options.layout, options.delimiter, out);
  for (const SacctLine& line : sacct_lines(jobs, options.question)) {
    append_sacct_line(columns, options.layout, options.delimiter, line, context, out);
    if (out.size() > (1 << 20)) {
      write_out(out);
      out.clear();
    }
  }
  write_out(out);
}

}  // namespace

int sacct_main(int argc, char** argv) {
  SacctOptions options;
  if (std::optional<int> status = read_sacct_arguments(argc, argv, options)) return *status;
  SacctQuestion& question = options.question;
  const int64_t now = std::time(nullptr);
  if (Status status = set_sacct_window(options, now, question); !status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  if (question.from > question.until) {
    print_error("sacct", "Start time (" + text::format_time(question.from) +
                             ") requested is after end time (" + text::format_time(question.until) + ").");
    return 1;
  }
  auto columns = parse_sacct_format(options.format);
  if (!columns) return report_sacct(Error{0, columns.error().message});

  auto client = Client::connect();
  if (!client) return report_sacct(Error{0, client.error().message});
  if (options.batch_script) return print_scripts(*client, options);
  auto records = fetch_accounting(*client, query_of(options));
  if (!records && records.error().code != model::kInvalidJobId)
    return report_sacct(Error{0, records.error().message});

  SacctContext context;
  context.display = display_context_from_environment();
  context.display.now = records && records->now != 0 ? records->now : now;
  context.display.convert_units = !options.no_convert;
  context.display.cluster_name = fetch_cluster_name(*client);
  context.unit = options.unit;
  append_rows(records ? *records : AccountingRecords(), options, *columns, context);
  return 0;
}

}  // namespace minke::cli
