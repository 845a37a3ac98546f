// minke: all of its commands with their options; env, man and completion; and, for the program's own use,
// daemon and launcher.
//
// Options by CLI11. --json where there is something to show.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "api/daemon.pb.h"
#include "base/version.h"
#include "cli/accounting.h"
#include "cli/cluster_commands.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/doctor.h"
#include "cli/estimate.h"
#include "cli/described_commands.h"
#include "cli/guard.h"
#include "cli/links.h"
#include "cli/parse_options.h"
#include "cli/repair.h"
#include "cli/runs.h"
#include "cli/shell_install.h"
#include "cli/simulate.h"
#include "cli/software.h"
#include "cli/storage/storage.h"
#include "cli/systemd_units.h"
#include "cli/top.h"
#include "cli/tracking.h"
#include "cli/usage.h"
#include "cli/wheels.h"
#include "cli/why.h"
#include "engine/embedded/daemon.h"
#include "helpers/adopt.h"
#include "helpers/job_proxy.h"
#include "helpers/keep_metrics.h"
#include "helpers/metrics_server.h"
#include "helpers/my_tiers.h"
#include "helpers/programs.h"
#include "node/gpu_probe.h"
#include "node/launcher.h"
#include "node/tmp_image.h"
#include "os/files.h"
#include "os/helper_program.h"
#include "os/helper_starter.h"
#include "os/minke_home.h"
#include "text/shell_quote.h"

namespace minke::cli {

namespace {

// Letters to add, remove or change to make one word of the other (Levenshtein).
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

int env(bool force, bool csh, bool install, bool uninstall) {
  auto home = os::minke_home();
  if (!home) return complain(home.error());
  if (install || uninstall) {
    if (install && (!os::is_shared(*home) || ::geteuid() == 0)) {
      if (auto linked = make_links(*home); !linked) return complain(linked.error());
    }
    const auto done = install ? install_in_shells(*home, force) : uninstall_from_shells(*home);
    if (!done) return complain(done.error());
    std::fputs(done->empty() ? (install ? "there already\n" : "nothing was installed\n") : done->c_str(),
               stdout);
    return 0;
  }
  if (!os::is_shared(*home) || ::geteuid() == 0) {
    if (auto linked = make_links(*home); !linked) return complain(linked.error());
  }
  if (const std::string real = real_slurm_command(*home); !real.empty() && !force) {
    return complain(
        Error{0, "a real Slurm is on PATH (" + real +
                     "); its commands are left alone. Use 'minke sbatch …', or 'minke env --over-slurm'"});
  }
  const std::string bin = text::shell_quoted(os::bin_path(*home)), of = text::shell_quoted(*home);
  std::string text = csh ? "setenv MINKE_HOME " + of + "\n" + "if ( \":${PATH}:\" !~ *:" + bin +
                               ":* ) setenv PATH " + bin + ":\"${PATH}\"\n"
                         : "export MINKE_HOME=" + of + "\n" + "case \":$PATH:\" in *:" + bin +
                               ":*) ;; *) export PATH=" + bin + ":\"$PATH\" ;; esac\n";
  text += helpers::tier_exports(csh) + module_functions(*home, csh);
  for (const char c : text) {
    if (c == '\n' && csh) std::fputs(" ;", stdout);  // csh's eval makes one line of all
    std::fputc(c, stdout);
  }
  return 0;
}

int daemon_main(engine::DaemonOptions options) {
  if (options.home.empty()) {
    auto home = os::minke_home();
    if (!home) return complain(home.error());
    options.home = *home;
  }
  // Jobs find the commands there.
  if (const Status linked = make_links(options.home); !linked) return complain(linked.error());
  return engine::run_daemon(options);
}

}  // namespace

int minke_main(int argc, char** argv) {
  CLI::App app{
      "Minke: a research cluster in one program. sbatch, srun, squeue and the others work as in Slurm."};
  app.set_version_flag("--version", std::string("minke ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Slurm's commands: sbatch srun salloc squeue sq sinfo scancel sacct scontrol seff\n"
      "  as 'minke sbatch …', or directly after: eval \"$(minke env)\"");

  int exit_code = 0;
  bool shared = false, prepare_only = false, print_units = false;
  auto* up_command = app.add_subcommand("up", "start the cluster");
  up_command->add_flag("--shared", shared, "for all users of this machine; for root");
  up_command->add_flag("--prepare", prepare_only, "make its directory, and start nothing")->needs("--shared");
  up_command->add_flag("--print-units", print_units,
                       "print the units that have systemd start a shared cluster");
  up_command->callback([&] { exit_code = print_units ? print_systemd_units() : up(shared, prepare_only); });

  auto* down_command =
      app.add_subcommand("down", "stop the cluster; waiting jobs wait on for the next start");
  bool keep_jobs = false, cancel_jobs = false;
  auto* keep = down_command->add_flag("--keep-jobs", keep_jobs, "let running jobs go on without the daemon");
  down_command->add_flag("--cancel-jobs", cancel_jobs, "cancel running jobs first")->excludes(keep);
  down_command->callback([&] {
    exit_code = down(keep_jobs     ? api::ShutdownRequest::KEEP_JOBS
                     : cancel_jobs ? api::ShutdownRequest::CANCEL_JOBS
                                   : api::ShutdownRequest::IF_IDLE);
  });

  bool json = false;
  auto* status_command = app.add_subcommand("status", "what runs, and where");
  status_command->add_flag("--json", json, "as JSON");
  status_command->callback([&] { exit_code = status(json); });

  auto* doctor_command =
      app.add_subcommand("doctor", "what is wrong on this machine, and the command that mends it");
  doctor_command->add_flag("--json", json, "as JSON");
  bool repair = false;
  doctor_command->add_flag("--repair", repair, "make a sound database of a damaged one; the daemon is down");
  doctor_command->callback([&] { exit_code = repair ? repair_database() : doctor(json); });

  auto* backup_command = app.add_subcommand("backup", "a copy of the cluster's database, also while it runs");
  std::string backup_file;
  backup_command->add_option("FILE", backup_file, "the copy; there must be no such file yet")->required();
  backup_command->callback([&] { exit_code = back_up_database(backup_file); });

  auto* log_command = app.add_subcommand("log", "the daemon's log");
  bool follow = false;
  int lines = 50;
  log_command->add_flag("-f,--follow", follow, "go on as it grows");
  log_command->add_option("-n,--lines", lines, "how many of the last lines")
      ->check(CLI::Range(0, 1000000000));
  log_command->callback([&] { exit_code = log(follow, lines); });

  auto* env_command = app.add_subcommand("env", "shell commands that put Slurm's commands on PATH, for eval");
  bool over_slurm = false;
  env_command->add_flag("--over-slurm", over_slurm, "in front of a real Slurm's commands, too");
  bool csh = false;
  env_command->add_flag("--csh", csh, "for csh and tcsh: eval \"`minke env --csh`\"");
  bool install = false, uninstall = false;
  auto* install_flag = env_command->add_flag(
      "--install", install,
      "for good: in the files that your shells read; by root of a shared cluster, for all");
  env_command->add_flag("--uninstall", uninstall, "take that back")->excludes(install_flag);
  env_command->callback([&] { exit_code = env(over_slurm, csh, install, uninstall); });

  auto* man_command = app.add_subcommand("man", "the manual page of a command of Slurm's, for man -l -");
  std::string page;
  man_command->add_option("command", page, "sbatch, squeue, …")->required();
  man_command->callback([&] { exit_code = man(page); });

  auto* completion_command =
      app.add_subcommand("completion", "completes options and values in a shell; to be sourced by it");
  std::string shell;
  completion_command->add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion_command->callback([&] { exit_code = completion(shell); });

  auto* why_command =
      app.add_subcommand("why", "why a job waits, when it will start, and what would start sooner");
  std::string why_job;
  why_command->add_option("job", why_job, "job id; of an array's task: 12_3")->required();
  why_command->add_flag("--json", json, "as JSON");
  why_command->callback([&] { exit_code = why(why_job, json); });

  auto* accounting_command =
      app.add_subcommand("accounting", "the record of ended jobs, from one cluster to another");
  accounting_command->require_subcommand(1);
  std::vector<std::string> dumps;
  auto* import_command =
      accounting_command->add_subcommand("import", "take in what sacct -P printed, of Slurm or of Minke");
  import_command->add_option("file", dumps, "plain or gzipped; -: standard input")->required();
  import_command->callback([&] { exit_code = import_accounting(dumps); });
  ExportOptions exported;
  auto* export_command =
      accounting_command->add_subcommand("export", "write all of it, for import elsewhere");
  export_command->add_option("file", exported.file, "default: standard output");
  export_command->add_option("--since", exported.since, "jobs that ended then or later: 2026-04-01");
  export_command->add_option("--until", exported.until, "jobs submitted until then");
  export_command->callback([&] { exit_code = export_accounting(exported); });

  std::string purged_before;
  auto* purge_command = accounting_command->add_subcommand("purge", "forget what ended long ago");
  purge_command->add_option("--before", purged_before, "2025-04-01, now-365days")->required();
  purge_command->callback([&] { exit_code = purge_accounting(purged_before); });

  UsageOptions used;
  auto* usage_command =
      app.add_subcommand("usage", "core-years and RGU-years of each account, and what they will come to");
  usage_command->add_option("--since", used.since, "the first day of the year: 2026-04-01");
  usage_command->add_option("-A,--account", used.accounts, "only these")->delimiter(',');
  bool of_storage = false;
  usage_command->add_flag("--storage", of_storage, "what you have in the cluster's tiers of storage instead");
  usage_command->add_option("--gpu", used.gpu, "tell GPU equivalents in this model: h100");
  usage_command->add_flag("--json", used.json, "as JSON");
  usage_command->callback([&] { exit_code = of_storage ? storage_usage(used.json) : usage(used); });

  SimulateOptions replay;
  auto* simulate_command =
      app.add_subcommand("simulate", "what a scheduling policy would have made of a past workload");
  simulate_command
      ->add_option("trace", replay.trace,
                   "Standard Workload Format, or what sacct -P printed; may be gzipped")
      ->required();
  simulate_command
      ->add_option("--policy", replay.policies, "fcfs, easy, easy-sjbf, conservative; several: a comparison")
      ->delimiter(',')
      ->default_val(std::vector<std::string>{"easy"})
      ->check(CLI::IsMember({"fcfs", "easy", "easy-sjbf", "conservative"}));
  simulate_command->add_option("--processors", replay.processors, "of the machine, if not as the trace says")
      ->check(CLI::Range(1, 0x7fffffff));
  simulate_command->add_option("--config", replay.config,
                               "place the jobs on the nodes of this minke.toml, or slurm.conf");
  simulate_command->add_option(
      "--accounts", replay.accounts,
      "accounts and their shares, as sacctmgr dump wrote them; cluster: those of the "
      "running cluster, with QOS and limits; with --config");
  simulate_command->add_option("--waits", replay.waits,
                               "write each job's id and wait in seconds to this file");
  simulate_command->add_option("--svg", replay.svg, "draw use and queue over time into this file");
  simulate_command->add_flag("--plot", replay.plot, "draw them here");
  simulate_command->add_option("--by", replay.by, "figures for each user, group, account or partition")
      ->check(CLI::IsMember({"user", "group", "account", "partition"}));
  simulate_command->add_option("--top", replay.top, "how many of them, the largest first; 0: all");
  simulate_command->add_option("--rules", replay.rules, "what comes first within a second: study or daemon")
      ->check(CLI::IsMember({"study", "daemon"}));
  simulate_command->add_flag("--exact", replay.exact_requests,
                             "as if every job had asked for the time that it used");
  simulate_command->add_flag("--without-request", replay.without_request,
                             "keep jobs that did not say how long they would run");
  simulate_command->add_flag("--dependencies", replay.dependencies,
                             "submit a job when the one that it followed in the trace has ended");
  simulate_command->add_flag("--forecast", replay.forecast,
                             "say how good forecasts of starts would have been");
  simulate_command->add_flag("--json", replay.json, "as JSON");
  simulate_command->callback([&] { exit_code = simulate(replay); });

  EstimateOptions model;
  auto* estimate_command =
      app.add_subcommand("estimate", "GPU memory that a language model needs, and what to ask clusters for");
  estimate_command->add_option("model", model.model, "its directory, or 8B, 70B, 405B, gemma-3-1b");
  estimate_command->add_option("--for", model.task, "what the #SBATCH lines are for")
      ->check(CLI::IsMember({"inference", "full", "lora", "qlora"}));
  estimate_command->add_option("--precision", model.precision, "of the weights: fp32, bf16, fp8, int4 …");
  estimate_command->add_option("--kv-precision", model.cache_precision, "of the keys and values");
  estimate_command->add_option("--context", model.context, "tokens a sequence")
      ->check(CLI::Range(1, 100000000));
  estimate_command->add_option("--batch", model.batch, "sequences at once")->check(CLI::Range(1, 1000000));
  estimate_command->add_option("--rank", model.rank, "of LoRA")->check(CLI::Range(1, 65536));
  estimate_command->add_option("--optimizer", model.optimizer, "adamw, adamw-16bit, adamw-8bit");
  estimate_command->add_option("--time", model.time, "for the #SBATCH lines");
  estimate_command->add_option("--cluster", model.cluster, "only this one");
  estimate_command->add_flag("--published", model.published,
                             "compare with the published tables of Llama 3.1");
  estimate_command->add_flag("--json", model.json, "as JSON");
  estimate_command->callback([&] { exit_code = estimate(model); });

  auto* software_command =
      app.add_subcommand("software", "modules: what this machine has, under the names of clusters");
  software_command->require_subcommand(1);
  ScanCommand scanned;
  auto* scan_command =
      software_command->add_subcommand("scan", "make the module files anew from what is found");
  scan_command->add_option("--path", scanned.paths, "look here, too: a prefix, or a directory of programs")
      ->delimiter(':')
      ->allow_extra_args(false);
  scan_command->add_flag("--json", scanned.json, "as JSON");
  scan_command->callback([&] { exit_code = software_scan(scanned); });
  AliasCommand named;
  auto* alias_command =
      software_command->add_subcommand("alias", "what to load for another cluster's module");
  alias_command->add_option("name", named.name,
                            "as scripts have it: cuda/11.4, or cuda; none: show the aliases");
  alias_command->add_option("module", named.targets, "to load for it; none: there is nothing to load");
  alias_command->add_flag("--remove", named.remove, "forget it");
  alias_command->callback([&] { exit_code = software_alias(named); });

  auto* wheels_command = app.add_subcommand("wheels", "Python's wheels, for pip install --no-index");
  wheels_command->require_subcommand(1);
  WheelsCommand wheels;
  auto* add_command =
      wheels_command->add_subcommand("add", "fetch wheels with all that they need; this needs the internet");
  add_command->add_option("name", wheels.names, "as pip takes them: torch, 'numpy<2', a wheel's file");
  add_command->add_option("-r,--requirement", wheels.requirements, "requirements files")
      ->allow_extra_args(false);
  add_command
      ->add_option("-p,--python", wheels.pythons, "for these Pythons: 3.11; otherwise the three newest")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_command->callback([&] { exit_code = wheels_add(wheels); });
  std::vector<std::string> wheel_files;
  auto* remove_command = wheels_command->add_subcommand("remove", "forget wheels");
  remove_command->add_option("file", wheel_files, "their file names, as avail_wheels --raw has them")
      ->required();
  remove_command->callback([&] { exit_code = wheels_remove(wheel_files); });

  MetricsOptions curves;
  auto* metrics_command =
      app.add_subcommand("metrics", "curves of a job's training, from what its program writes");
  metrics_command->add_option("job", curves.job, "job id; of an array's task: 12_3")->required();
  metrics_command->add_option("file", curves.files, "these files, instead of those that are found");
  metrics_command->add_option("--name", curves.names, "only metrics of this name, with wildcards")
      ->allow_extra_args(false);
  metrics_command->add_flag("-f,--follow", curves.follow, "draw them anew as they grow, until the job ends");
  metrics_command->add_flag("--table", curves.table, "no curves");
  metrics_command->add_flag("--json", curves.json, "as JSON, with the curves' points");
  metrics_command->callback([&] { exit_code = metrics(curves); });

  RankOptions ranked;
  auto* jobs_command = app.add_subcommand("jobs", "your jobs, with the metrics of their training");
  jobs_command->add_option("--metric", ranked.metrics, "a column each; only jobs that have one")
      ->delimiter(',')
      ->allow_extra_args(false);
  jobs_command->add_flag("--sort", ranked.sort, "by the first metric, the largest first");
  jobs_command->add_flag("--ascending", ranked.ascending, "the smallest first");
  jobs_command->add_option("--value", ranked.value, "of each: last, least or largest")
      ->check(CLI::IsMember({"last", "least", "largest"}));
  jobs_command->add_option("--since", ranked.since, "jobs of that day and later");
  jobs_command->add_flag("--json", ranked.json, "as JSON");
  jobs_command->callback([&] { exit_code = rank_jobs(ranked); });

  RunsOptions offline_runs;
  auto* runs_command = app.add_subcommand("runs", "W&B runs that jobs left on disk");
  runs_command->add_option("directory", offline_runs.directories, "look below these; otherwise here");
  runs_command->add_flag("--upload", offline_runs.upload,
                         "have wandb upload those whose jobs have ended; this needs the internet");
  runs_command->add_flag("--json", offline_runs.json, "as JSON");
  runs_command->callback([&] { exit_code = runs(offline_runs); });

  // main() picks these.
  app.add_subcommand("chain", "a job script in parts, for work longer than a time limit");
  app.add_subcommand("storage", "what is on the disks");
  app.add_subcommand("cp", "copy files and trees, complete and on the disk when it says so");
  app.add_subcommand("sync", "make one directory what another is; alone: minke runs --upload");
  app.add_subcommand("pack", "one large file of many small ones, verified");
  app.add_subcommand("unpack", "an archive into a directory");
  app.add_subcommand("stage", "in a job: data sets on the node's own disk");
  app.add_subcommand("data", "what a directory of data is, and where it belongs");

  engine::DaemonOptions daemon;
  auto* daemon_command = app.add_subcommand("daemon", "run the daemon in the foreground");
  daemon_command->add_option("--home", daemon.home, "the cluster's state directory");
  daemon_command->add_option("--config", daemon.config_path, "the configuration");
  daemon_command->add_flag("--await-launcher", daemon.await_launcher,
                           "leave it to others to start the launcher (systemd), and wait for it");
  daemon_command
      ->add_flag("--leave-job", daemon.leave_job, "get out of the job that this is started from, or fail")
      ->group("");
  daemon_command->add_flag("--ask-helper-starter", daemon.ask_helper_starter,
                           "have minke helper-starter start what the daemon would (systemd)");
  daemon_command->add_flag("--stub-launch", daemon.stub_launch,
                           "run nothing: every job ends at once (for measuring)");
  bool no_sync = false;
  daemon_command->add_flag("--no-sync", no_sync, "do not wait for the disk (for measuring)");
  daemon_command->callback([&] {
    daemon.sync = !no_sync;
    exit_code = daemon_main(daemon);
  });

  node::LauncherOptions launcher;
  auto* launcher_command = app.add_subcommand(std::string(os::helper_name(os::Helper::kLauncher)),
                                              "run the launcher in the foreground");
  launcher_command->group("");  // the daemon starts it
  launcher_command->add_option("--home", launcher.home)->required();
  launcher_command->callback([&] { exit_code = node::run_launcher(launcher); });

  std::string starter_home;
  auto* starter_command = app.add_subcommand("helper-starter", "start helpers for the daemon");
  starter_command->group("");  // systemd starts it
  starter_command->add_option("--home", starter_home)->required();
  starter_command->callback([&] { exit_code = os::run_helper_starter(starter_home); });

  std::string image_directory;
  uint64_t image_bytes = 0;
  auto* image_command = app.add_subcommand(std::string(os::helper_name(os::Helper::kTmpImageTemplate)),
                                           "make the file that jobs' directories are copied from");
  image_command->group("");  // the daemon has it started
  image_command->add_option("--directory", image_directory)->required();
  image_command->add_option("--bytes", image_bytes)->required();
  image_command->callback([&] {
    const Status made = node::make_tmp_image_template(image_directory, image_bytes);
    std::puts(made ? "made" : made.error().message.c_str());
  });

  TopOptions top_options;
  auto* top_command = app.add_subcommand("top", "what running jobs use now");
  top_command->add_flag("--once", top_options.once, "print it once");
  top_command->add_flag("--json", top_options.json, "once, as JSON");
  top_command->add_flag("--series", top_options.series, "with --json: all samples");
  top_command->add_option("-j,--jobs", top_options.jobs, "these jobs; of those that ended what was kept");
  top_command->add_option("-d,--delay", top_options.seconds, "seconds between two looks")
      ->check(CLI::Range(0.5, 3600.0));
  top_command->callback([&] { exit_code = top(top_options); });

  helpers::AdoptOptions adopt_options;
  auto* adopt_command =
      app.add_subcommand("adopt", "put a login into a running job of its user, for pam_exec");
  adopt_command->add_option("--user", adopt_options.user, "whose login it is; else PAM_USER");
  adopt_command->add_option("--pid", adopt_options.pid, "the process; else the caller")
      ->check(CLI::Range(1, 1 << 30));
  adopt_command->add_option("--allow", adopt_options.allow, "a group that may log in without a job");
  adopt_command->callback([&] { exit_code = helpers::adopt(adopt_options); });

  GuardOptions guard_options;
  auto* guard_command =
      app.add_subcommand("guard", "keep processes outside of jobs from the GPUs, in a shared cluster");
  guard_command->add_option("action", guard_options.action, "on, off, or status")
      ->check(CLI::IsMember({"on", "off", "status"}));
  guard_command->add_option("--group", guard_options.groups,
                            "which processes: a control group; else user.slice, all logins");
  guard_command->callback([&] { exit_code = guard(guard_options); });

  std::string metrics_home, metrics_address;
  auto* server_command =
      app.add_subcommand(std::string(os::helper_name(os::Helper::kMetricsServer)), "serve /metrics");
  server_command->group("");  // the daemon starts it
  server_command->add_option("--home", metrics_home)->required();
  server_command->add_option("--listen", metrics_address)->required();
  server_command->callback([&] { exit_code = helpers::serve_metrics(metrics_home, metrics_address); });

  helpers::JobProxyOptions job_proxy_options;
  auto* proxy_command = app.add_subcommand(std::string(os::helper_name(os::Helper::kJobProxy)),
                                           "an offline job's way to the hosts that are allowed");
  proxy_command->group("");  // the launcher starts it
  proxy_command->add_option("--program", job_proxy_options.program)->required();
  proxy_command->add_option("--allow", job_proxy_options.allowed)->required();
  proxy_command->add_option("--connect-port", job_proxy_options.connect_ports);
  proxy_command->add_option("--upstream", job_proxy_options.upstream);
  proxy_command->callback([&] { exit_code = helpers::job_proxy(job_proxy_options); });

  node::GpuOptions nvml;
  auto* probe_command =
      app.add_subcommand(std::string(os::helper_name(os::Helper::kGpuProbe)), "ask the GPUs' driver");
  probe_command->group("");  // the daemon starts it
  probe_command->add_option("--library", nvml.library)->required();
  probe_command->add_option("--devices", nvml.devices)->required();
  probe_command->add_option("--capabilities", nvml.capabilities)->required();
  probe_command->add_option("--system", nvml.system)->required();
  probe_command->callback([&] { exit_code = node::run_gpu_probe(nvml); });

  std::string keeper_home;
  auto* keeper_command = app.add_subcommand(std::string(os::helper_name(os::Helper::kKeepMetrics)),
                                            "put metrics of jobs into their records");
  keeper_command->group("");  // the daemon starts it
  keeper_command->add_option("--home", keeper_home)->required();
  keeper_command->callback([&] { exit_code = helpers::metric_keeper(keeper_home); });

  std::string mailer_home, mailer_config;
  auto* mailer_command = app.add_subcommand(std::string(os::helper_name(os::Helper::kMailer)),
                                            "send the messages on standard input");
  mailer_command->group("");  // the daemon starts it
  mailer_command->add_option("--home", mailer_home)->required();
  mailer_command->add_option("--config", mailer_config);
  mailer_command->callback([&] { exit_code = helpers::mailer(mailer_home, mailer_config); });

  if (argc > 1 && argv[1][0] != '-') {
    bool known = false;
    std::string closest;
    size_t least = 3;  // more than two letters wrong is another word
    const auto consider = [&](const std::string& name) {
      known |= name == argv[1];
      if (const size_t distance = edit_distance(argv[1], name); distance < least) {
        least = distance;
        closest = name;
      }
    };
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      consider(command->get_name());
    for (const char* name : kLinkNames) consider(name);
    if (!known) {
      complain(Error{0, "there is no command " + std::string(argv[1]) +
                            (closest.empty() ? "; see minke --help" : "; did you mean " + closest + "?")});
      return 2;
    }
  }
  if (const auto over = parse_options(app, argc, argv)) return *over;
  return exit_code;
}

}  // namespace minke::cli
