// minke metrics, jobs, runs.
#include "cli/tracking.h"

#include <memory>

#include "cli/overview.h"
#include "cli/runs.h"
#include "cli/subcommands/subcommands.h"

namespace minke::cli {

namespace {

void add_metrics(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<MetricsOptions>();
  auto* command = app.add_subcommand("metrics", "curves of a job's training, from what its program writes");
  command->add_option("job", options->job, "job id; of an array's task: 12_3")->required();
  command->add_option("file", options->files, "these files, instead of those that are found");
  command->add_option("--name", options->names, "only metrics of this name, with wildcards")
      ->allow_extra_args(false);
  command->add_flag("-f,--follow", options->follow, "draw them anew as they grow, until the job ends");
  command->add_flag("--table", options->table, "no curves");
  command->add_flag("--json", options->json, "as JSON, with the curves' points");
  command->callback([options, &exit_code] { exit_code = metrics(*options); });
}

void add_jobs(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RankOptions>();
  const auto with_metrics = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("jobs", "your jobs; ranked by the metrics of their training");
  command->add_flag("--metrics", *with_metrics, "all that have begun, with their first metrics");
  command->add_option("--metric", options->metrics, "a column each; only jobs that have one")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--sort", options->sort, "by the first metric, the largest first");
  command->add_flag("--ascending", options->ascending, "the smallest first");
  command->add_option("--value", options->value, "of each: last, least or largest")
      ->check(CLI::IsMember({"last", "least", "largest"}));
  command->add_option("--since", options->since,
                      "jobs of that day and later; without metrics, those that ended then: now-7days");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, with_metrics, &exit_code] {
    const bool ranks = *with_metrics || !options->metrics.empty() || options->sort || options->json;
    exit_code = ranks ? rank_jobs(*options) : my_jobs(options->since);
  });
}

void add_runs(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RunsOptions>();
  auto* command = app.add_subcommand("runs", "W&B runs that jobs left on disk");
  command->add_option("directory", options->directories, "look below these; otherwise here");
  command->add_flag("--upload", options->upload,
                    "have wandb upload those whose jobs have ended; this needs the internet");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] { exit_code = runs(*options); });
}

}  // namespace

void add_tracking_commands(CLI::App& app, int& exit_code) {
  add_metrics(app, exit_code);
  add_jobs(app, exit_code);
  add_runs(app, exit_code);
}

}  // namespace minke::cli
