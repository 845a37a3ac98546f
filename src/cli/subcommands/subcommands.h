// The subcommands of minke by topic: their options (CLI11), and the function that each calls.
//
// Each function adds its commands in the order of minke --help. A command's result goes to `exit_code`, which
// must outlive the app; the options live as long as the callbacks that read them.
#pragma once

#include <CLI/CLI.hpp>

namespace minke::cli {

// All commands of minke, those that main() picks by their names among them: what --help, the manual pages and
// the completions list.
void add_minke_commands(CLI::App& app, int& exit_code);

void add_own_jobs_commands(CLI::App& app, int& exit_code);    // tail, redo, edit, pause, resume
void add_setting_up_commands(CLI::App& app, int& exit_code);  // setup, self
void add_cluster_commands(CLI::App& app, int& exit_code);     // up, down, status, doctor, backup, log
void add_shell_commands(CLI::App& app, int& exit_code);       // env, man, completion
void add_planning_commands(CLI::App& app, int& exit_code);    // why, accounting, usage, simulate, estimate
void add_software_commands(CLI::App& app, int& exit_code);    // software, wheels
void add_tracking_commands(CLI::App& app, int& exit_code);    // metrics, jobs, runs
void add_daemon_commands(CLI::App& app, int& exit_code);      // daemon; those that it and systemd start
void add_watching_commands(CLI::App& app, int& exit_code);    // top, adopt, guard
void add_carrying_commands(CLI::App& app, int& exit_code);    // carry

}  // namespace minke::cli
