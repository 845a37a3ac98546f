// minke daemon, and the programs that it, the launcher and systemd start: --help does not list these.
#include <cstdio>
#include <memory>
#include <string>

#include "cli/complain.h"
#include "cli/links.h"
#include "cli/subcommands/subcommands.h"
#include "engine/embedded/daemon.h"
#include "helpers/job_ports.h"
#include "helpers/job_proxy.h"
#include "helpers/keep_metrics.h"
#include "helpers/metrics_server.h"
#include "helpers/programs.h"
#include "node/gpu_probe.h"
#include "node/launcher.h"
#include "node/tmp_image.h"
#include "os/helper_program.h"
#include "os/helper_starter.h"
#include "os/minke_home.h"
#include "portal/app_gate.h"
#include "portal/app_terminal.h"

namespace minke::cli {

namespace {

int serve(engine::DaemonOptions options) {
  if (options.home.empty()) {
    auto home = os::minke_home();
    if (!home) return complain(home.error());
    options.home = *home;
  }
  // Jobs find the commands there.
  if (const Status linked = make_links(options.home); !linked) return complain(linked.error());
  return engine::run_daemon(options);
}

CLI::App& add_hidden(CLI::App& app, std::string_view name, const char* what) {
  auto* command = app.add_subcommand(std::string(name), what);
  command->group("");
  return *command;
}

CLI::App& add_helper(CLI::App& app, os::Helper helper, const char* what) {
  return add_hidden(app, os::helper_name(helper), what);
}

void add_daemon(CLI::App& app, int& exit_code) {
  struct Options : engine::DaemonOptions {
    bool no_sync = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("daemon", "run the daemon in the foreground");
  command->add_option("--home", options->home, "the cluster's state directory");
  command->add_option("--config", options->config_path, "the configuration");
  command->add_flag("--await-launcher", options->await_launcher,
                    "leave it to others to start the launcher (systemd), and wait for it");
  command
      ->add_flag("--leave-job", options->leave_job, "get out of the job that this is started from, or fail")
      ->group("");
  command->add_flag("--ask-helper-starter", options->ask_helper_starter,
                    "have minke helper-starter start what the daemon would (systemd)");
  command->add_flag("--stub-launch", options->stub_launch,
                    "run nothing: every job ends at once (for measuring)");
  command->add_flag("--no-sync", options->no_sync, "do not wait for the disk (for measuring)");
  command->callback([options, &exit_code] {
    options->sync = !options->no_sync;
    exit_code = serve(*options);
  });
}

void add_launcher(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<node::LauncherOptions>();
  auto& command = add_helper(app, os::Helper::kLauncher, "run the launcher in the foreground");
  command.add_option("--home", options->home)->required();
  command.callback([options, &exit_code] { exit_code = node::run_launcher(*options); });
}

void add_helper_starter(CLI::App& app, int& exit_code) {
  const auto home = std::make_shared<std::string>();
  auto& command = add_hidden(app, "helper-starter", "start helpers for the daemon");
  command.add_option("--home", *home)->required();
  command.callback([home, &exit_code] { exit_code = os::run_helper_starter(*home); });
}

void add_tmp_image(CLI::App& app) {
  struct Options {
    std::string directory;
    uint64_t bytes = 0;
  };
  const auto options = std::make_shared<Options>();
  auto& command =
      add_helper(app, os::Helper::kTmpImageTemplate, "make the file that jobs' directories are copied from");
  command.add_option("--directory", options->directory)->required();
  command.add_option("--bytes", options->bytes)->required();
  command.callback([options] {
    const Status made = node::make_tmp_image_template(options->directory, options->bytes);
    std::puts(made ? "made" : made.error().message.c_str());
  });
}

void add_metrics_server(CLI::App& app, int& exit_code) {
  struct Options {
    std::string home, address;
  };
  const auto options = std::make_shared<Options>();
  auto& command = add_helper(app, os::Helper::kMetricsServer, "serve /metrics");
  command.add_option("--home", options->home)->required();
  command.add_option("--listen", options->address)->required();
  command.callback(
      [options, &exit_code] { exit_code = helpers::serve_metrics(options->home, options->address); });
}

void add_job_proxy(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<helpers::JobProxyOptions>();
  auto& command =
      add_helper(app, os::Helper::kJobProxy, "an offline job's way to the hosts that are allowed");
  command.add_option("--program", options->program)->required();
  command.add_option("--allow", options->allowed)->required();
  command.add_option("--connect-port", options->connect_ports);
  command.add_option("--upstream", options->upstream);
  command.callback([options, &exit_code] { exit_code = helpers::job_proxy(*options); });
}

void add_job_ports(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<helpers::JobPortsOptions>();
  auto& command = add_helper(app, os::Helper::kJobPorts, "ports of a user's offline jobs");
  command.add_option("--user", options->user)->required();
  command.add_flag("--anybody", options->anybody);
  command.callback([options, &exit_code] { exit_code = helpers::job_ports(*options); });
}

void add_app_programs(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<portal::AppGateOptions>();
  auto& gate =
      add_hidden(app, "app-gate", "in the job of an interactive application: start it, and let its user in");
  gate.add_option("--session", options->session)->required();
  gate.add_option("--host", options->host)->required();
  gate.add_flag("--at-port", options->at_port);
  gate.callback([options, &exit_code] { exit_code = portal::run_app_gate(*options); });
  auto& terminal = add_hidden(app, "app-terminal", "the portal's terminal: a shell, and its page");
  terminal.callback([&exit_code] { exit_code = portal::run_app_terminal(); });
}

void add_gpu_probe(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<node::GpuOptions>();
  auto& command = add_helper(app, os::Helper::kGpuProbe, "ask the GPUs' driver");
  command.add_option("--library", options->library)->required();
  command.add_option("--devices", options->devices)->required();
  command.add_option("--capabilities", options->capabilities)->required();
  command.add_option("--system", options->system)->required();
  command.callback([options, &exit_code] { exit_code = node::run_gpu_probe(*options); });
}

void add_metric_keeper(CLI::App& app, int& exit_code) {
  const auto home = std::make_shared<std::string>();
  auto& command = add_helper(app, os::Helper::kKeepMetrics, "put metrics of jobs into their records");
  command.add_option("--home", *home)->required();
  command.callback([home, &exit_code] { exit_code = helpers::metric_keeper(*home); });
}

void add_mailer(CLI::App& app, int& exit_code) {
  struct Options {
    std::string home, config;
  };
  const auto options = std::make_shared<Options>();
  auto& command = add_helper(app, os::Helper::kMailer, "send the messages on standard input");
  command.add_option("--home", options->home)->required();
  command.add_option("--config", options->config);
  command.callback([options, &exit_code] { exit_code = helpers::mailer(options->home, options->config); });
}

}  // namespace

void add_daemon_commands(CLI::App& app, int& exit_code) {
  add_daemon(app, exit_code);
  add_launcher(app, exit_code);
  add_helper_starter(app, exit_code);
  add_tmp_image(app);
  add_metrics_server(app, exit_code);
  add_job_proxy(app, exit_code);
  add_job_ports(app, exit_code);
  add_gpu_probe(app, exit_code);
  add_app_programs(app, exit_code);
  add_metric_keeper(app, exit_code);
  add_mailer(app, exit_code);
}

}  // namespace minke::cli
