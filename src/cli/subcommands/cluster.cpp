// minke up, down, status, doctor, backup, log.
#include <memory>
#include <string>

#include "api/daemon.pb.h"
#include "cli/cluster_commands.h"
#include "cli/doctor.h"
#include "cli/own_cluster.h"
#include "cli/repair.h"
#include "cli/subcommands/subcommands.h"
#include "cli/systemd_units.h"

namespace minke::cli {

namespace {

void add_up(CLI::App& app, int& exit_code) {
  struct Options {
    bool shared = false, prepare_only = false, print_units = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("up", "start the cluster");
  command->add_flag("--shared", options->shared, "for all users of this machine; for root");
  command->add_flag("--prepare", options->prepare_only, "make its directory, and start nothing")
      ->needs("--shared");
  command->add_flag("--print-units", options->print_units,
                    "print the units that have systemd start a shared cluster");
  command->callback([options, &exit_code] {
    if (options->print_units) {
      exit_code = print_systemd_units();
    } else {
      exit_code = means_own_cluster() ? up(options->shared, options->prepare_only) : 1;
    }
  });
}

void add_down(CLI::App& app, int& exit_code) {
  struct Options {
    bool keep_jobs = false, cancel_jobs = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("down", "stop the cluster; waiting jobs wait on for the next start");
  auto* keep =
      command->add_flag("--keep-jobs", options->keep_jobs, "let running jobs go on without the daemon");
  command->add_flag("--cancel-jobs", options->cancel_jobs, "cancel running jobs first")->excludes(keep);
  command->callback([options, &exit_code] {
    exit_code = down(options->keep_jobs     ? api::ShutdownRequest::KEEP_JOBS
                     : options->cancel_jobs ? api::ShutdownRequest::CANCEL_JOBS
                                            : api::ShutdownRequest::IF_IDLE);
  });
}

void add_status(CLI::App& app, int& exit_code) {
  const auto json = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("status", "what runs, and where");
  command->add_flag("--json", *json, "as JSON");
  command->callback([json, &exit_code] { exit_code = status(*json); });
}

void add_doctor(CLI::App& app, int& exit_code) {
  struct Options {
    bool json = false, repair = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("doctor", "what is wrong on this machine, and the command that mends it");
  command->add_flag("--json", options->json, "as JSON");
  command->add_flag("--repair", options->repair,
                    "make a sound database of a damaged one; the daemon is down");
  command->callback([options, &exit_code] {
    if (!options->repair) {
      exit_code = doctor(options->json);
    } else {
      exit_code = means_own_cluster() ? repair_database() : 1;
    }
  });
}

void add_backup(CLI::App& app, int& exit_code) {
  struct Options {
    std::string file;
    bool restore = false;
  };
  const auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("backup", "a copy of the cluster's database, also while it runs");
  command->add_option("FILE", options->file, "the copy; there must be no such file yet")->required();
  command->add_flag("--restore", options->restore, "go back to that copy instead; the daemon is down");
  command->callback([options, &exit_code] {
    const auto run = options->restore ? restore_database : back_up_database;
    exit_code = means_own_cluster() ? run(options->file) : 1;
  });
}

void add_log(CLI::App& app, int& exit_code) {
  struct Options {
    bool follow = false;
    int lines = 50;
  };
  const auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("log", "the daemon's log");
  command->add_flag("-f,--follow", options->follow, "go on as it grows");
  command->add_option("-n,--lines", options->lines, "how many of the last lines")
      ->check(CLI::Range(0, 1000000000));
  command->callback(
      [options, &exit_code] { exit_code = means_own_cluster() ? log(options->follow, options->lines) : 1; });
}

}  // namespace

void add_cluster_commands(CLI::App& app, int& exit_code) {
  add_up(app, exit_code);
  add_down(app, exit_code);
  add_status(app, exit_code);
  add_doctor(app, exit_code);
  add_backup(app, exit_code);
  add_log(app, exit_code);
}

}  // namespace minke::cli
