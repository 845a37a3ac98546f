// minke top, portal, agent, poll, adopt, guard.
#include <memory>

#include "cli/agent.h"
#include "cli/guard.h"
#include "cli/poll.h"
#include "cli/portal.h"
#include "cli/subcommands/subcommands.h"
#include "cli/top.h"
#include "engine/slurm/agent_wire.h"
#include "helpers/adopt.h"

namespace minke::cli {

namespace {

void add_top(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TopOptions>();
  auto* command = app.add_subcommand("top", "what running jobs use now");
  command->add_flag("--once", options->once, "print it once");
  command->add_flag("--json", options->json, "once, as JSON");
  command->add_flag("--series", options->series, "with --json: all samples");
  command->add_option("-j,--jobs", options->jobs, "these jobs; of those that ended what was kept");
  command->add_option("-d,--delay", options->seconds, "seconds between two looks")
      ->check(CLI::Range(0.5, 3600.0));
  command->callback([options, &exit_code] { exit_code = top(*options); });
}

void add_portal(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PortalCommand>();
  auto* command = app.add_subcommand("portal", "the cluster in your browser, and over HTTP");
  command->add_option("-p,--port", options->port, "where it listens on this machine; 0: a free port")
      ->check(CLI::Range(0, 65535));
  command->add_flag("--open", options->open, "open it in this machine's browser");
  command->add_option("--token-file", options->token_file,
                      "write the token for programs there, for you alone");
  command->add_option("--unused", options->unused_minutes, "minutes without use after which it ends")
      ->check(CLI::Range(1, 10080));
  command->add_flag("--shared", options->is_shared,
                    "for all users of this machine, who log in; a service of root's");
  command->add_flag("--print-unit", options->prints_unit, "print the unit of the shared portal for systemd");
  portal::SharedOptions& shared = options->shared;
  command->add_option("--address", shared.address, "with --shared: where it listens")
      ->default_str("127.0.0.1");
  command->add_option("--name", shared.names,
                      "with --shared: under which browsers reach it, each with its own --name");
  command->add_option("--apps-name", shared.apps_name,
                      "with --shared: under which browsers reach interactive applications; another name");
  command->add_option("--certificate", shared.certificate, "with --shared: its certificate, a file in PEM");
  command->add_option("--key", shared.key, "with --shared: the certificate's key, a file in PEM");
  command->add_option("--pam-service", shared.service, "with --shared: PAM's file of log-ins")
      ->default_str("minke-portal");
  command->add_option("--oidc-issuer", shared.oidc.issuer,
                      "with --shared: people log in at this provider of OpenID Connect, not by PAM");
  command->add_option("--oidc-client", shared.oidc.client, "with --oidc-issuer: how it knows this portal");
  command->add_option("--oidc-secret", shared.oidc.secret_file,
                      "with --oidc-issuer: a file with the client's secret");
  command
      ->add_option("--oidc-claim", shared.oidc.claim, "with --oidc-issuer: the claim that is a user's name")
      ->default_str("preferred_username");
  command->add_option("--oidc-domain", shared.oidc.domain,
                      "with --oidc-issuer: of name@domain this one alone is taken");
  command->add_flag("--oidc-login", options->is_oidc_login)->group("");
  command->add_flag("--plain", shared.is_plain, "with --shared: browsers use http; for loopback alone");
  command->add_flag("--worker", options->is_worker)->group("");
  command->add_option("--login-service", options->login_service)->group("");
  command->add_option("--login-name", options->login_name)->group("");
  command->add_option("--login-address", options->login_address)->group("");
  command->callback([options, &exit_code] { exit_code = portal_command(*options); });
}

void add_agent(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<AgentCommand>();
  options->port = engine::slurm::kAgentPort;
  auto* command =
      app.add_subcommand("agent", "on a node of a Slurm cluster: measure its jobs, for minke top; a service");
  command->add_flag("--print-unit", options->print_unit, "print its unit for systemd");
  command->add_option("--port", options->port, "where it listens; 0: a free port")
      ->check(CLI::Range(0, 65535));
  command->add_option("--address", options->address, "at this address only");
  command->add_option("--period", options->seconds, "seconds between two measurements")
      ->check(CLI::Range(1, 600));
  command->add_option("--munge-socket", options->munge_socket, "munged's socket, if it is another");
  command->add_option("--sees-all", options->sees_all, "a user who may ask about all jobs, as root may");
  command->add_flag("--collect", options->collect,
                    "on the head: also keep what the agents of all nodes have measured of ended jobs");
  command->add_option("--directory", options->directory, "where that is kept")
      ->default_val("/var/lib/minke-agent");
  command->add_option("--collect-period", options->collect_seconds, "seconds between two collections")
      ->check(CLI::Range(1, 3000));
  command->add_option("--gpu-library", options->gpu_library, "NVML's library, if it is another")->group("");
  command->callback([options, &exit_code] { exit_code = agent(*options); });
}

void add_poll(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PollCommand>();
  auto* command =
      app.add_subcommand("poll", "on a Slurm's login node: ask slurmctld for all users; a service of root's");
  command->add_flag("--print-unit", options->print_unit, "print its unit for systemd");
  command->add_flag("--once", options->once, "ask once");
  command->callback([options, &exit_code] { exit_code = poll_cluster(*options); });
}

void add_adopt(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<helpers::AdoptOptions>();
  auto* command = app.add_subcommand("adopt", "put a login into a running job of its user, for pam_exec");
  command->add_option("--user", options->user, "whose login it is; else PAM_USER");
  command->add_option("--pid", options->pid, "the process; else the caller")->check(CLI::Range(1, 1 << 30));
  command->add_option("--allow", options->allow, "a group that may log in without a job");
  command->callback([options, &exit_code] { exit_code = helpers::adopt(*options); });
}

void add_guard(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<GuardOptions>();
  auto* command =
      app.add_subcommand("guard", "keep processes outside of jobs from the GPUs, in a shared cluster");
  command->add_option("action", options->action, "on, off, or status")
      ->check(CLI::IsMember({"on", "off", "status"}));
  command->add_option("--group", options->groups,
                      "which processes: a control group; else user.slice, all logins");
  command->callback([options, &exit_code] { exit_code = guard(*options); });
}

}  // namespace

void add_watching_commands(CLI::App& app, int& exit_code) {
  add_top(app, exit_code);
  add_portal(app, exit_code);
  add_agent(app, exit_code);
  add_poll(app, exit_code);
  add_adopt(app, exit_code);
  add_guard(app, exit_code);
}

}  // namespace minke::cli
