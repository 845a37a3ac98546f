// minke tail, redo, edit, wait, pause, resume: what people do with their jobs every day.
#include <memory>
#include <string>

#include "cli/edit.h"
#include "cli/pause.h"
#include "cli/redo.h"
#include "cli/subcommands/subcommands.h"
#include "cli/tail.h"
#include "cli/wait_jobs.h"

namespace minke::cli {

namespace {

void add_tail(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TailOptions>();
  auto* command = app.add_subcommand("tail", "what a job writes");
  command->add_option("job", options->job, "job id; of an array's task: 12_3")->required();
  command->add_flag("-f,--follow", options->follow, "go on as it grows, until the job has ended");
  command->add_option("-n,--lines", options->lines, "how many of the last lines")
      ->check(CLI::Range(0, 1000000));
  command->add_flag("-e,--error", options->error,
                    "what it writes to its standard error, if that is another file");
  command->callback([options, &exit_code] { exit_code = tail(*options); });
}

void add_redo(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<RedoOptions>();
  auto* command = app.add_subcommand("redo", "submit a job again, with its script and options");
  command->add_option("job", options->job, "job id; an array, or some of its tasks: 12_[1,3]")->required();
  command->add_flag("--failed", options->failed, "of an array, the tasks that did not complete");
  command->callback([options, &exit_code] {
    std::string line = "minke redo" + std::string(options->failed ? " --failed " : " ") + options->job;
    char* words[] = {line.data(), nullptr};
    exit_code = redo(*options, 1, words);
  });
}

void add_wait(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<WaitOptions>();
  auto* command = app.add_subcommand(
      "wait", "until jobs have ended; tells it on the desktop, to a web hook, to a command");
  command->add_option("job", options->jobs, "job ids")->required();
  command->add_flag("--desktop", options->desktop, "show it on the desktop (notify-send)");
  command->add_option("--webhook", options->webhook, "POST it as JSON to this URL (curl)");
  command->add_option("--command", options->command,
                      "run this in a shell, with MINKE_JOB_ID, _NAME, _STATE, _EXIT_STATUS");
  command->add_flag("-q,--quiet", options->quiet, "print nothing");
  command->callback([options, &exit_code] { exit_code = wait_jobs(*options); });
}

void add_edit(CLI::App& app, int& exit_code) {
  const auto job = std::make_shared<std::string>();
  auto* command = app.add_subcommand("edit", "change a waiting job in your editor");
  command->add_option("job", *job, "job id")->required();
  command->callback([job, &exit_code] { exit_code = edit_job(*job); });
}

void add_pause(CLI::App& app, int& exit_code, bool resume) {
  const auto options = std::make_shared<PauseOptions>();
  auto* command = resume ? app.add_subcommand("resume", "let jobs start again after minke pause")
                         : app.add_subcommand("pause", "nothing new starts until minke resume");
  command->add_option("partition", options->partitions, "only in these; else in all");
  command->add_flag("--mine", options->mine,
                    resume ? "release your held jobs" : "hold your waiting jobs instead");
  if (!resume) command->add_flag("--running", options->running, "suspend running jobs, too");
  command->callback(
      [options, resume, &exit_code] { exit_code = resume ? resume_queue(*options) : pause_queue(*options); });
}

}  // namespace

void add_own_jobs_commands(CLI::App& app, int& exit_code) {
  add_tail(app, exit_code);
  add_redo(app, exit_code);
  add_edit(app, exit_code);
  add_wait(app, exit_code);
  add_pause(app, exit_code, false);
  add_pause(app, exit_code, true);
}

}  // namespace minke::cli
