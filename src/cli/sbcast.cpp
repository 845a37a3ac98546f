// sbcast and sgather: copy files to the nodes of a job, and from them. All virtual nodes of a machine see the
// same files, so one copy serves all of them, and sgather fetches the same file from each node, under each
// node's name. Compression, block sizes and fan-out, which speed up a network, have no effect.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "api/jobs.pb.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "helpers/copy_file.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "options/values.h"
#include "text/hostlist.h"

namespace minke::cli {
namespace {

struct Options {
  const char* command = "";
  bool force = false, preserve = false, keep = false, recursive = false;
  bool without_job = false;                 // --no-allocation
  std::string nodes;                        // --nodelist
  std::string fanout = "8", timeout = "0";  // only printed
  unsigned verbose = 0;
  std::string job;
  std::vector<std::string> names;
};

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

int complain(const Options& options, const std::string& text) {
  std::fprintf(stderr, "%s: error: %s\n", options.command, text.c_str());
  return 1;
}

// --no-allocation: an operator copies to nodes, whatever runs there.
Result<std::vector<std::string>> named_nodes(const Options& options) {
  if (options.nodes.empty()) return failure("--nodelist/-w is required with --no-allocation/-Z.");
  auto names = text::expand_hostlist(options.nodes);
  if (!names) return failure(names.error());
  const auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  const auto answer = engine::fetch_nodes(**cluster);
  if (!answer) return failure(answer.error());
  for (const std::string& name : *names) {
    const bool known = std::any_of(answer->records.begin(), answer->records.end(),
                                   [&](const auto* node) { return node->name() == name; });
    if (!known) return failure("Invalid node name specified (there is no node " + name + ")");
  }
  return std::move(*names);
}

// Returns the nodes of the job that the command runs in, or of --jobid; with --nodelist, those of them.
Result<std::vector<std::string>> nodes_of_job(const Options& options) {
  if (options.without_job) return named_nodes(options);
  std::string id = options.job;
  if (const char* variable = std::getenv("SLURM_JOB_ID"); id.empty() && variable != nullptr) id = variable;
  if (id.empty())
    return failure(
        "Need a job id to run this command.  Run from within a Slurm job or use the --jobid option.");
  const auto number = static_cast<uint32_t>(std::strtoul(id.c_str(), nullptr, 10));
  const auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  api::WaitJobRequest request;
  request.set_job_id(number);
  std::vector<std::string> nodes;
  bool runs = false;
  const Status found = (*cluster)->wait(request, [&](api::WaitJobReply& reply) -> Status {
    const model::JobRecord& job = reply.job();
    runs = job.state() == model::JOB_RUNNING;
    for (const auto& node : job.nodes()) nodes.push_back(node.node());
    if (!runs) return failure("Job/step already completing or completed");
    return {};
  });
  if (!found) return failure("Slurm job " + id + " lookup error: " + found.error().message);
  if (options.nodes.empty()) return nodes;
  auto wanted = text::expand_hostlist(options.nodes);
  if (!wanted) return failure(wanted.error());
  for (const std::string& name : *wanted) {
    if (std::find(nodes.begin(), nodes.end(), name) == nodes.end())
      return failure("Requested nodelist is not a subset of the job's nodes (" + name + ")");
  }
  return std::move(*wanted);
}

std::string with_name(std::string target, const std::string& source) {
  if (target.ends_with('/')) target += source.substr(source.rfind('/') + 1);
  return target;
}

Ended sgather_version(Options&, const Given&) {
  std::printf("sgather %s\n", std::string(slurm_version(spoken_release())).c_str());
  return 0;
}

constexpr auto kIgnored = &options::ignored<Options>;  // of the network

// Columns: see options::Option. Each command takes the other's long names, as in Slurm.
constexpr options::Row<Options> kSbcastRows[] = {
    {{"compress", 'C', kOptional, "lib", "compress the file being transmitted"}, kIgnored},
    {{"exclude", '\0', kRequired, "path", "comma-separated libraries not to send"}, kIgnored},
    {{"fanout", 'F', kRequired, "num", "specify message fanout"}, options::keep<&Options::fanout>},
    {{"force", 'f', kNone, "", "replace destination file as required", "", "SBCAST_FORCE"},
     options::flag<&Options::force>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Options>},
    {{"jobid", 'j', kRequired, "#[+#][.#]", "specify job ID with optional hetjob offset and/or step ID",
      options::kRunningJobIds},
     options::keep<&Options::job>},
    {{"keep", '\0', kNone}, options::flag<&Options::keep>},
    {{"no-allocation", 'Z', kNone, "", "copy to nodes, whatever runs there"},
     options::flag<&Options::without_job>},
    {{"nodelist", 'w', kRequired, "names", "of the job's nodes, these alone", options::kNodeNames},
     options::keep<&Options::nodes>},
    {{"preserve", 'p', kNone, "", "preserve modes and times of source file", "", "SBCAST_PRESERVE"},
     options::flag<&Options::preserve>},
    {{"recursive", '\0', kNone}, options::flag<&Options::recursive>},
    {{"send-libs", '\0', kOptional, "yes|no", "send the libraries of an executable, too"}, kIgnored},
    {{"size", 's', kRequired, "num", "block size in bytes (rounded off)"}, kIgnored},
    {{"timeout", 't', kRequired, "secs", "specify message timeout (seconds)"},
     options::keep<&Options::timeout>},
    {{"treewidth", '\0', kRequired}, kIgnored},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Options>},
    {{"verbose", 'v', kNone, "", "provide detailed event logging"}, options::count<&Options::verbose>},
    {{"version", 'V', kNone, "", "print version information and exit"}, show_version<Options>},
};
constexpr options::Row<Options> kSgatherRows[] = {
    {{"compress", '\0', kOptional}, kIgnored},
    {{"", 'C', kNone, "", "compress the file being transmitted"}, kIgnored},
    {{"exclude", '\0', kRequired}, kIgnored},
    {{"fanout", 'F', kRequired, "num", "specify message fanout"}, options::keep<&Options::fanout>},
    {{"force", 'f', kNone, "", "ignore nonexistent source files, replace destination files"},
     options::flag<&Options::force>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Options>},
    {{"jobid", '\0', kRequired}, options::keep<&Options::job>},
    {{"keep", 'k', kNone, "", "do not remove source file after transmission"}, options::flag<&Options::keep>},
    {{"preserve", 'p', kNone, "", "preserve modes and times of source file"},
     options::flag<&Options::preserve>},
    {{"recursive", 'r', kNone, "", "copy directories recursively"}, options::flag<&Options::recursive>},
    {{"send-libs", '\0', kOptional}, kIgnored},
    {{"size", 's', kRequired}, kIgnored},
    {{"timeout", 't', kRequired, "secs", "specify message timeout (seconds)"},
     options::keep<&Options::timeout>},
    {{"treewidth", '\0', kRequired}, kIgnored},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Options>},
    {{"verbose", 'v', kNone, "", "provide detailed event logging"}, options::count<&Options::verbose>},
    {{"version", 'V', kNone, "", "print version information and exit"}, sgather_version},
};

const options::Table<Options>& sbcast_table() {
  static const auto* const kTable = new options::Table<Options>(
      {.name = "sbcast",
       .purpose = "copies a file to the nodes of a job",
       .operands = "SOURCE DEST",
       .operand_values = options::kFiles,
       .usage = "Usage: sbcast [-CfFjpstvV] [--exclude] [--send-libs] SOURCE DEST\n"},
      kSbcastRows);
  return *kTable;
}

const options::Table<Options>& sgather_table() {
  static const auto* const kTable =
      new options::Table<Options>({.name = "sgather",
                                   .purpose = "copies a file from the nodes of a job",
                                   .operands = "SOURCE DEST",
                                   .operand_values = options::kFiles,
                                   .usage = "Usage: sgather [-CfFkprtvV] SOURCE DEST\n"},
                                  kSgatherRows);
  return *kTable;
}

Ended read_options(const options::Table<Options>& table, int argc, char** argv, Options& options) {
  CommandRead read = read_command(table, argc, argv, options);
  if (read.status) return read.status;
  options.command = table.command.name.data();
  options.names = std::move(read.operands);
  if (options.names.size() == 2) return std::nullopt;
  std::fprintf(stderr, "Need two file names, have %zu names\n", options.names.size());
  std::fprintf(stderr, "Try \"%s --help\" for more information\n", options.command);
  return 1;
}

void tell_options(const Options& options, const struct stat& source) {
  const char* job = options.job.empty() ? std::getenv("SLURM_JOB_ID") : options.job.c_str();
  std::fprintf(
      stderr,
      "sbcast: force        = %s\nsbcast: jobid        = %s\nsbcast: preserve     = %s\n"
      "sbcast: verbose      = %u\nsbcast: source       = %s\nsbcast: dest         = %s\n"
      "sbcast: modes    = %o\nsbcast: uid      = %u\nsbcast: gid      = %u\nsbcast: size     = %lld\n",
      options.force ? "true" : "false", job == nullptr ? "" : job, options.preserve ? "true" : "false",
      options.verbose, options.names[0].c_str(), options.names[1].c_str(), source.st_mode & 07777,
      source.st_uid, source.st_gid, static_cast<long long>(source.st_size));
}

void tell_gathering(const Options& options, const std::vector<std::string>& nodes) {
  std::string list;
  for (const std::string& node : nodes) list += (list.empty() ? "" : ",") + node;
  const auto tell = [](const char* name, const std::string& value) {
    std::printf("sgather: %-11s = %s\n", name, value.c_str());
  };
  const auto yes_or_no = [](bool value) { return value ? "true" : "false"; };
  tell("force", yes_or_no(options.force));
  tell("fanout", options.fanout);
  tell("keep source", yes_or_no(options.keep));
  tell("preserve", yes_or_no(options.preserve));
  tell("recursive", yes_or_no(options.recursive));
  tell("timeout", options.timeout);
  tell("verbose", std::to_string(options.verbose));
  tell("source", options.names[0]);
  tell("dest", options.names[1]);
  tell("node_cnt", std::to_string(nodes.size()));
  tell("node_list", list);
  std::fflush(stdout);
}

}  // namespace

const options::Command& sbcast_command() {
  return sbcast_table().command;
}
const options::Command& sgather_command() {
  return sgather_table().command;
}

int sbcast_main(int argc, char** argv) {
  Options options;
  if (const auto done = read_options(sbcast_table(), argc, argv, options)) return *done;
  const auto nodes = nodes_of_job(options);
  if (!nodes) return complain(options, nodes.error().message);
  const std::string& source = options.names[0];
  const std::string target = with_name(options.names[1], source);
  struct stat from {
  }, to{};
  if (::stat(source.c_str(), &from) != 0)
    return complain(options, "Can't open `" + source + "`: " + std::strerror(errno));
  if (options.verbose > 0) tell_options(options, from);
  if (::stat(target.c_str(), &to) == 0) {
    if (S_ISDIR(to.st_mode)) return complain(options, "Target filename cannot be a directory.");
    if (from.st_dev == to.st_dev && from.st_ino == to.st_ino) return 0;  // it is there already
  }
  if (from.st_size == 0) std::fprintf(stderr, "sbcast: Warning: file `%s` is empty.\n", source.c_str());
  if (const Status copied = helpers::copy_file(source, target, {options.force, options.preserve}); !copied) {
    const std::string node = nodes->empty() ? "" : nodes->front();
    return complain(options, "REQUEST_FILE_BCAST(" + node + "): " + std::strerror(copied.error().code));
  }
  if (options.verbose > 0)
    std::fprintf(stderr, "sbcast: %s: one copy for %zu nodes\n", target.c_str(), nodes->size());
  return 0;
}

int sgather_main(int argc, char** argv) {
  Options options;
  if (const auto done = read_options(sgather_table(), argc, argv, options)) return *done;
  const auto nodes = nodes_of_job(options);
  if (!nodes) return complain(options, nodes.error().message);
  const std::string& source = options.names[0];
  if (::access(source.c_str(), R_OK) != 0) {
    if (options.force && errno == ENOENT) return 0;
    return complain(options, source + ": " + std::strerror(errno));
  }
  if (options.verbose > 0) tell_gathering(options, *nodes);
  const helpers::CopyOptions how{options.force, options.preserve};
  for (const std::string& node : *nodes) {
    const std::string target = with_name(options.names[1], source) + "." + node;
    const Status copied =
        options.recursive ? helpers::copy_tree(source, target, how) : helpers::copy_file(source, target, how);
    if (!copied) return complain(options, copied.error().message);
  }
  std::error_code problem;
  if (!options.keep && options.recursive) std::filesystem::remove_all(source, problem);
  if (!options.keep && !options.recursive && ::unlink(source.c_str()) != 0)
    problem.assign(errno, std::generic_category());
  if (problem) return complain(options, source + ": " + problem.message());
  return 0;
}

}  // namespace minke::cli
