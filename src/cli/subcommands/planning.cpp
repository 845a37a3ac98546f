// minke why, accounting, usage, simulate, estimate.
#include <memory>
#include <string>
#include <vector>

#include "cli/accounting.h"
#include "cli/estimate.h"
#include "cli/own_cluster.h"
#include "cli/simulate.h"
#include "cli/storage/storage.h"
#include "cli/subcommands/subcommands.h"
#include "cli/usage.h"
#include "cli/why.h"

namespace minke::cli {

namespace {

void add_why(CLI::App& app, int& exit_code) {
  struct Options {
    std::string job;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("why", "why a job waits, when it will start, and what would start sooner");
  command->add_option("job", options->job, "job id; of an array's task: 12_3")->required();
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] { exit_code = why(options->job, options->json); });
}

void add_import(CLI::App& accounting, int& exit_code) {
  const auto dumps = std::make_shared<std::vector<std::string>>();
  auto* command = accounting.add_subcommand("import", "take in what sacct -P printed, of Slurm or of Minke");
  command->add_option("file", *dumps, "plain or gzipped; -: standard input")->required();
  command->callback([dumps, &exit_code] { exit_code = means_own_cluster() ? import_accounting(*dumps) : 1; });
}

void add_export(CLI::App& accounting, int& exit_code) {
  const auto options = std::make_shared<ExportOptions>();
  auto* command = accounting.add_subcommand("export", "write all of it, for import elsewhere");
  command->add_option("file", options->file, "default: standard output");
  command->add_option("--since", options->since, "jobs that ended then or later: 2026-04-01");
  command->add_option("--until", options->until, "jobs submitted until then");
  command->callback(
      [options, &exit_code] { exit_code = means_own_cluster() ? export_accounting(*options) : 1; });
}

void add_purge(CLI::App& accounting, int& exit_code) {
  const auto before = std::make_shared<std::string>();
  auto* command = accounting.add_subcommand("purge", "forget what ended long ago");
  command->add_option("--before", *before, "2025-04-01, now-365days")->required();
  command->callback(
      [before, &exit_code] { exit_code = means_own_cluster() ? purge_accounting(*before) : 1; });
}

void add_accounting(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("accounting", "the record of ended jobs, from one cluster to another");
  command->require_subcommand(1);
  add_import(*command, exit_code);
  add_export(*command, exit_code);
  add_purge(*command, exit_code);
}

void add_usage(CLI::App& app, int& exit_code) {
  struct Options : UsageOptions {
    bool of_storage = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("usage", "core-years and RGU-years of each account, and what they will come to");
  command->add_option("--since", options->since, "the first day of the year: 2026-04-01");
  command->add_option("-A,--account", options->accounts, "only these")->delimiter(',');
  command->add_flag("--storage", options->of_storage,
                    "what you have in the cluster's tiers of storage instead");
  command->add_option("--gpu", options->gpu, "tell GPU equivalents in this model: h100");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] {
    exit_code = options->of_storage ? storage_usage(options->json) : usage(*options);
  });
}

void add_simulate(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<SimulateOptions>();
  auto* command =
      app.add_subcommand("simulate", "what a scheduling policy would have made of a past workload");
  command
      ->add_option("trace", options->trace,
                   "Standard Workload Format, or what sacct -P printed; may be gzipped; cluster: what the "
                   "record of the cluster in use has")
      ->required();
  command->add_option("--since", options->since, "with cluster: jobs from then on: 2026-04-01, now-90days")
      ->capture_default_str();
  command
      ->add_option("--policy", options->policies,
                   "fcfs, easy, easy-sjbf, conservative; several: a comparison")
      ->delimiter(',')
      ->default_val(std::vector<std::string>{"easy"})
      ->check(CLI::IsMember({"fcfs", "easy", "easy-sjbf", "conservative"}));
  command->add_option("--processors", options->processors, "of the machine, if not as the trace says")
      ->check(CLI::Range(1, 0x7fffffff));
  command->add_option("--config", options->config,
                      "place the jobs on the nodes of this minke.toml, or slurm.conf");
  command->add_option("--accounts", options->accounts,
                      "accounts and their shares, as sacctmgr dump wrote them; cluster: those of the "
                      "running cluster, with QOS and limits; with --config");
  command->add_option("--waits", options->waits, "write each job's id and wait in seconds to this file");
  command->add_option("--svg", options->svg, "draw use and queue over time into this file");
  command->add_flag("--plot", options->plot, "draw them here");
  command->add_option("--by", options->by, "figures for each user, group, account or partition")
      ->check(CLI::IsMember({"user", "group", "account", "partition"}));
  command->add_option("--top", options->top, "how many of them, the largest first; 0: all");
  command->add_option("--rules", options->rules, "what comes first within a second: study or daemon")
      ->check(CLI::IsMember({"study", "daemon"}));
  command->add_flag("--exact", options->exact_requests,
                    "as if every job had asked for the time that it used");
  command->add_flag("--without-request", options->without_request,
                    "keep jobs that did not say how long they would run");
  command->add_flag("--dependencies", options->dependencies,
                    "submit a job when the one that it followed in the trace has ended");
  command->add_flag("--forecast", options->forecast, "say how good forecasts of starts would have been");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] { exit_code = simulate(*options); });
}

void add_estimate(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<EstimateOptions>();
  auto* command =
      app.add_subcommand("estimate", "GPU memory that a model needs, and what to ask clusters for");
  command->add_option(
      "model", options->model,
      "its directory, a size such as 13B, or a name: llama-3.1-8b, gpt2-xl, bert-large, resnet50 …");
  command->add_option("--for", options->task, "what the #SBATCH lines are for")
      ->check(CLI::IsMember({"inference", "full", "lora", "qlora"}));
  command->add_option("--precision", options->precision, "of the weights: fp32, bf16, fp8, int4 …");
  command->add_option("--kv-precision", options->cache_precision, "of the keys and values");
  command
      ->add_option("--context", options->context,
                   "tokens a sequence; 8192, or as many as the model is made for")
      ->check(CLI::Range(1, 100000000));
  command->add_option("--batch", options->batch, "sequences or images at once")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--rank", options->rank, "of LoRA")->check(CLI::Range(1, 65536));
  command->add_option("--optimizer", options->optimizer, "adamw, adamw-16bit, adamw-8bit");
  command->add_option("--time", options->time, "for the #SBATCH lines");
  command->add_option("--cluster", options->cluster, "only this one; here: the cluster in use");
  command->add_flag("--published", options->published, "compare with the published tables of Llama 3.1");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options, &exit_code] { exit_code = estimate(*options); });
}

}  // namespace

void add_planning_commands(CLI::App& app, int& exit_code) {
  add_why(app, exit_code);
  add_accounting(app, exit_code);
  add_usage(app, exit_code);
  add_simulate(app, exit_code);
  add_estimate(app, exit_code);
}

}  // namespace minke::cli
