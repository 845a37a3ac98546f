// A whole submission as sbatch, salloc or srun was asked for it: the part for the engine (JobSpec) and the
// part that the command itself handles.
//
// It is made in steps, each pure:
//   1. read_command_line(): argv into settings and positional arguments, as getopt_long reads them.
//   2. The caller finds and reads the batch script, if there is one.
//   3. make_job_request(): #SBATCH lines, then environment variables, then the command line, each overriding
//      the one before; then the checks that need no cluster. For a heterogeneous job, once for each
//      component.
// May be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "base/result.h"
#include "base/version.h"
#include "model/job_spec.pb.h"

namespace minke::submit {

enum class Command : unsigned {
  kSbatch = 1,
  kSalloc = 2,
  kSrun = 4
};  // bits, so that options can name several
std::string_view command_name(Command command);

inline constexpr uint32_t kMaxSwitchWait = 300;  // s, Slurm's default max_switch_wait: cuts longer waits

// Where a setting comes from, lowest precedence first.
enum class Source { kScript, kEnvironment, kCommandLine };

// A command that ends before it did anything: the text for stderr (whole lines), and the exit status.
struct Refusal {
  std::string text;
  int exit_status = 1;
  bool is_help = false;  // for stdout
};
template <typename T>
using Outcome = tl::expected<T, Refusal>;

// The state that the process was started with.
struct Invocation {
  Command command = Command::kSbatch;
  std::vector<std::string> arguments;    // argv without argv[0]
  std::vector<std::string> environment;  // NAME=VALUE
  std::string working_directory;         // absolute
  int release = kSlurm22;                // of Slurm whose options and messages are meant
  int64_t now = 0;                       // s since the epoch
  // Whether a name or number is that of the calling user, or of one of their groups. Unset: always false.
  std::function<bool(std::string_view)> is_own_user, is_own_group;
  // The content of a file that an option names (--nodefile, --bbf, a --nodelist with a slash); an Error is
  // the system's message. Unset: there are no files.
  std::function<Result<std::string>(const std::string& path)> read_file;

  // The value of a variable; nothing if it is not set.
  std::optional<std::string_view> variable(std::string_view name) const;
};

struct Option;

// One option as it was given, not checked yet.
struct Setting {
  const Option* option = nullptr;
  std::optional<std::string> value;
  Source source = Source::kCommandLine;
};

enum class ShowOnly { kNothing, kHelp, kUsage, kVersion, kMatching };

struct CommandLine {
  // One list for each component of a heterogeneous job, which " : " separates; a plain job has one.
  std::vector<std::vector<Setting>> components;
  std::vector<std::vector<std::string>>
      programs;                         // srun: what each component but the last runs; may be empty
  std::vector<std::string> positional;  // script or program first
  ShowOnly show = ShowOnly::kNothing;   // --help, --usage, --version, --autocomplete: nothing else happens
  std::string begun;                    // the value of --autocomplete
  std::optional<std::string> wrap;      // --wrap: there is no script to read
  bool external = false;                // --external: there is none at all
};

// The batch script as the caller found it.
struct ScriptFile {
  std::string path;  // absolute; empty: read from standard input
  std::string content;
};

struct JobRequest {
  Command command = Command::kSbatch;
  model::JobSpec spec;
  // A heterogeneous job: all its components, the first being `spec`; empty for a plain job. The other members
  // belong to the first component.
  std::vector<model::JobSpec> het_components;
  std::vector<std::vector<std::string>> het_programs;  // srun: what each component runs
  std::string script;                                  // sbatch: what runs
  std::vector<std::string> arguments;                  // salloc, srun: the program and its arguments
  std::vector<std::string> notes;  // to write to stderr, without "sbatch: " in front, unless --quiet
  std::map<std::string, Source, std::less<>> given;  // long names of the options that were set

  std::vector<std::pair<std::string, uint32_t>> licenses_per_task;  // from --tres-per-task

  std::string clusters;     // --clusters; empty: not given
  bool lists_gres = false;  // --gres=help: only list the gres that exist

  bool quiet = false;
  uint32_t verbose = 0;
  bool test_only = false;
  std::optional<uint32_t> immediate_seconds;  // salloc, srun: give up if it has not started by then
  bool wait_all_nodes = false;
  std::optional<std::vector<std::string>>
      propagate;  // limits of setrlimit(2) to pass on: "NOFILE"; absent: all

  // sbatch
  bool parsable = false;
  bool wait = false;
  std::string export_file;        // a path, or a descriptor's number
  std::optional<uint32_t> umask;  // for the job: SLURM_UMASK, #PBS -W umask

  // sbatch, salloc: --get-user-env
  std::optional<uint32_t> user_env_seconds;  // to wait for the login shell
  bool user_env_without_login = false;       // mode S: a shell that is not a login shell

  // salloc
  bool no_shell = false;
  std::optional<bool> bell;
  std::optional<uint32_t> kill_command_signal;  // sent to the command when the allocation is revoked

  // srun
  std::optional<uint32_t> job_id;  // of the allocation to run in: --jobid, SLURM_JOB_ID
  bool label = false;
  bool unbuffered = false;
  bool pty = false;
  int terminal = 0;                       // --pty=DESCRIPTOR
  bool async = false;                     // return as soon as the step has begun
  std::vector<uint32_t> ignored_signals;  // --ignore-signals
  bool interactive = false;               // the step of salloc's shell
  bool overlap = false;
  bool exact = false;
  std::optional<bool> kill_on_bad_exit;
  std::optional<uint32_t> wait_seconds;  // after the first task ended; 0: for ever
  uint32_t relative_node = 0;
  bool quit_on_interrupt = false;
  bool disable_status = false;
  std::string mpi;  // none, pmi2, pmix, list; empty: none
  bool multi_prog = false;
  bool debugger_test = false;
  std::string bcast;                     // --bcast=PATH; empty: the program is run in place
  std::optional<uint32_t> slurmd_debug;  // 0: quiet, 1: fatal, 2: error, 3: info …
  bool preserve_env = false;
  std::string prolog, epilog;            // srun runs them itself
  std::string task_prolog, task_epilog;  // beside each task

  bool is_given(std::string_view option) const { return given.find(option) != given.end(); }
};

Outcome<CommandLine> read_command_line(const Invocation& invocation);

// `script` is only given for sbatch without --wrap.
Outcome<JobRequest> make_job_request(const Invocation& invocation, const CommandLine& command_line,
                                     const std::optional<ScriptFile>& script = std::nullopt);

// "sbatch: error: <message>", with that prefix on each line of `message`. SLURM_EXIT_ERROR
// replaces the status.
Refusal refuse(const Invocation& invocation, std::string_view message, int exit_status);

}  // namespace minke::submit
