// scrontab: a user's crontab is listed, edited, replaced or removed. Its entries are jobs of the cluster.
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "api/actions.pb.h"
#include "api/crontabs.pb.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "cli/srun/launch_environment.h"
#include "engine/open.h"
#include "model/error.h"
#include "options/values.h"
#include "os/editor.h"
#include "os/files.h"
#include "os/random_key.h"
#include "submit/crontab.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

using options::Given;
using enum options::ArgumentKind;

constexpr std::string_view kUsage =
    "usage:\tscrontab [-u user] file\n"
    "\tscrontab [-u user] [ -e | -l | -r | -v]\n"
    "\t-e\tEdit user's crontab (default action if stdin is a TTY)\n"
    "\t-l\tList user's crontab\n"
    "\t-r\tDelete user's crontab\n"
    "\t-u\tUser to edit crontab for\n";

// What an editor shows where there is no crontab yet: Slurm's text.
constexpr std::string_view kExample =
    "# Welcome to scrontab, Slurm's cron-like interface.\n"
    "#\n"
    "# Edit this file to submit recurring jobs to be run by Slurm.\n"
    "#\n"
    "# Note that jobs will be run based on the Slurm controller's\n"
    "# time and timezone.\n"
    "#\n"
    "# Lines must either be valid entries, comments (start with '#'),\n"
    "# or blank.\n"
    "#\n"
    "# Lines starting with #SCRON will be parsed for options to use\n"
    "# with the next cron line. E.g., \"#SCRON --time 1\" would request\n"
    "# a one minute timelimit be applied. See the sbatch man page for\n"
    "# options, although note that not all options are supported here.\n"
    "#\n"
    "# For example, the following line (when uncommented) would request\n"
    "# a job be run at 5am each day.\n"
    "# 0 5 * * * /my/script/to/run\n"
    "#\n"
    "# min hour day-of-month month day-of-week command\n";

struct Arguments {
  bool edit = false, list = false, remove = false;
  unsigned verbose = 0;
  std::string user;
};

int fatal(const std::string& message) {
  std::fprintf(stderr, "scrontab: fatal: %s\n", message.c_str());
  return 1;
}

int wrong_usage() {
  std::fputs(std::string(kUsage).c_str(), stderr);
  return 1;
}

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"", 'e', kNone, "", "edit the crontab, by VISUAL or EDITOR"}, options::flag<&Arguments::edit>},
    {{"", 'l', kNone, "", "list the crontab"}, options::flag<&Arguments::list>},
    {{"", 'r', kNone, "", "remove the crontab; its running jobs go on, and do not recur"},
     options::flag<&Arguments::remove>},
    {{"", 'u', kRequired, "user", "the crontab of this user: operators list it, administrators change it",
      options::kUserNames},
     options::keep<&Arguments::user>},
    {{"", 'v', kNone, "", "more messages"}, options::count<&Arguments::verbose>},
    {{"help", '\0', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"usage", '\0', kNone, "", "show a brief usage message"}, show_usage<Arguments>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable = new options::Table<Arguments>({.name = "scrontab",
                                                                   .purpose = "jobs that recur, by a crontab",
                                                                   .operands = "[file]",
                                                                   .operand_values = "FILE",
                                                                   .usage = kUsage,
                                                                   .hints_at_help = false},
                                                                  kRows);
  return *kTable;
}

struct Owner {
  uid_t uid = 0;
  std::string name, home, shell;
};

std::optional<Owner> owner_of(const std::string& user) {
  const passwd* entry = user.empty() ? ::getpwuid(::getuid()) : ::getpwnam(user.c_str());
  if (entry == nullptr && text::is_digits(user))
    entry = ::getpwuid(static_cast<uid_t>(std::strtoul(user.c_str(), nullptr, 10)));
  if (entry == nullptr) return std::nullopt;
  return Owner{entry->pw_uid, entry->pw_name, entry->pw_dir, entry->pw_shell};
}

std::string_view path_of(std::string_view block) {
  std::string_view path;
  for (const std::string_view variable : text::split(block, '\0'))
    if (variable.starts_with("PATH=")) path = variable.substr(5);
  return path;
}

// A log-in shell may lack the directory of this cluster's commands, by which scrontab was called.
void add_own_commands(std::string& block) {
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : text::split(path == nullptr ? "" : path, ':')) {
    if (directory.empty() || ::access((std::string(directory) + "/scrontab").c_str(), X_OK) != 0) continue;
    const auto known = std::string(path_of(block));
    for (const std::string_view one : text::split(known, ':'))
      if (one == directory) return;
    block += "PATH=" + std::string(directory) + (known.empty() ? "" : ":" + known) + '\0';
    return;
  }
}

// What jobs of a crontab find: their user's log-in environment, and nothing of this process. Another user's
// log-in shell is not run.
Result<std::string> environment_of(const Owner& owner, submit::Invocation invocation,
                                   const submit::JobRequest& request) {
  if (owner.uid == ::getuid()) {
    auto block = job_environment(invocation, request);
    if (block) add_own_commands(*block);
    return block;
  }
  submit::JobRequest plain = request;
  plain.spec.clear_get_user_env();
  invocation.environment = {"HOME=" + owner.home, "USER=" + owner.name, "LOGNAME=" + owner.name,
                            "SHELL=" + owner.shell, "PATH=/usr/local/bin:/usr/bin:/bin"};
  return job_environment(invocation, plain);
}

int invalid_crontab(const std::string& message) {
  std::fputs(message.c_str(), stderr);
  std::puts("There are errors in your crontab.");
  return 1;
}

// One entry, as a submission.
std::optional<int> add_entry(const Owner& owner, const submit::CrontabEntry& entry,
                             api::UpdateCrontabRequest& update) {
  submit::Invocation invocation = current_invocation(submit::Command::kSbatch, 0, nullptr);
  invocation.environment.clear();
  invocation.working_directory = owner.home;
  auto request = submit::crontab_request(entry, invocation);
  if (!request) return invalid_crontab(request.error().text);
  request->spec.set_get_user_env(true);
  request->spec.set_submit_host(host_name());
  request->spec.set_umask(request->umask.value_or(current_umask()));
  const auto environment = environment_of(owner, invocation, *request);
  if (!environment) return fatal(environment.error().message);
  api::SubmitRequest& submission = *update.add_entries();
  submission.set_key(os::random_key());
  put_specs(*request, submission);
  submission.set_script(request->script);
  submission.set_environment(*environment);
  return std::nullopt;
}

int tell_refused(const api::ActionReply::Failure& refused) {
  const auto code = static_cast<int>(refused.code());
  const std::string_view text = model::slurm_error_text(code);
  std::printf("There was an issue with the job submission on lines %s\n", refused.job().c_str());
  std::printf("The error code return was: %s\n",
              std::string(text.empty() ? refused.message() : text).c_str());
  std::printf("The error message was: %s\n",
              refused.message().empty() ? "(null)" : refused.message().c_str());
  return 1;
}

int install(engine::CrontabAbility& ability, const Owner& owner, const std::string& text) {
  const auto entries = submit::read_crontab(text);
  if (!entries) return invalid_crontab("scrontab: error: " + entries.error().message + "\n");
  api::UpdateCrontabRequest update;
  update.set_uid(owner.uid);
  update.set_text(text);
  for (const submit::CrontabEntry& entry : *entries)
    if (const auto status = add_entry(owner, entry, update)) return *status;
  const auto reply = ability.update_crontab(update);
  if (!reply) return fatal("slurm_update_crontab failed: " + reply.error().message);
  return reply->failures_size() > 0 ? tell_refused(reply->failures(0)) : 0;
}

// The crontab as it is listed; nothing if there is none.
Result<std::optional<std::string>> listed(engine::CrontabAbility& ability, const Owner& owner) {
  api::QueryCrontabRequest request;
  request.set_uid(owner.uid);
  const auto reply = ability.crontab(request);
  if (!reply) return failure("slurm_request_crontab failed: " + reply.error().message);
  if (!reply->has_crontab()) return std::optional<std::string>();
  std::vector<submit::CrontabLines> disabled;
  for (const auto& lines : reply->crontab().disabled()) disabled.push_back({lines.first(), lines.last()});
  return std::optional(submit::list_crontab(reply->crontab().text(), disabled));
}

int edit(engine::CrontabAbility& ability, const Owner& owner) {
  if (::isatty(STDIN_FILENO) == 0) return fatal("Standard input is not a TTY");
  const auto text = listed(ability, owner);
  if (!text) return fatal(text.error().message);
  const auto changed = os::edit_text(text->has_value() ? **text : std::string(kExample), "scrontab",
                                     submit::kMostCrontabBytes);
  if (!changed) return fatal(changed.error().message);
  return install(ability, owner, *changed);
}

int list(engine::CrontabAbility& ability, const Owner& owner) {
  const auto text = listed(ability, owner);
  if (!text) return fatal(text.error().message);
  if (!text->has_value()) {
    std::printf("no crontab for %s\n", owner.name.c_str());
    return 1;
  }
  view::write_out(**text);
  return 0;
}

int remove(engine::CrontabAbility& ability, const Owner& owner) {
  api::RemoveCrontabRequest request;
  request.set_uid(owner.uid);
  const auto reply = ability.remove_crontab(request);
  return reply ? 0 : fatal("slurm_remove_crontab failed: " + reply.error().message);
}

Result<std::string> read_crontab_file(const std::string& name) {
  auto content = os::read_file(name == "-" ? "/dev/stdin" : name, submit::kMostCrontabBytes);
  if (!content && content.error().code == EFBIG)
    return failure("a crontab has " + std::to_string(submit::kMostCrontabBytes >> 10) + " KiB at most");
  if (!content) return failure("cannot open " + name + ": " + content.error().message);
  return content;
}

}  // namespace

const options::Command& scrontab_command() {
  return table().command;
}

int scrontab_main(int argc, char** argv) {
  Arguments arguments;
  CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return *read.status;
  const int actions =
      arguments.edit + arguments.list + arguments.remove + static_cast<int>(read.operands.size());
  if (actions > 1) return wrong_usage();
  const auto owner = owner_of(arguments.user);
  if (!owner) return fatal("Could not find user " + arguments.user);
  std::string text;
  const bool reads = actions == 0 ? ::isatty(STDIN_FILENO) == 0 : !read.operands.empty();
  if (reads) {
    auto content = read_crontab_file(read.operands.empty() ? "-" : read.operands.front());
    if (!content) return fatal(content.error().message);
    text = std::move(*content);
  }
  const auto cluster = engine::open();
  if (!cluster) return fatal(cluster.error().message);
  const auto ability = (*cluster)->crontabs();
  if (!ability) return fatal(ability.error().message);
  return reads              ? install(**ability, *owner, text)
         : arguments.list   ? list(**ability, *owner)
         : arguments.remove ? remove(**ability, *owner)
                            : edit(**ability, *owner);
}

}  // namespace minke::cli
