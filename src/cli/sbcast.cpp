// sbcast and sgather: files to the nodes of a job, and from them. All virtual nodes of a machine see the same
// files, so one copy serves all of them, and what sgather fetches from each node is the same file under each
// node's name. Compression, block sizes and fan-out, which speed up a network, change nothing.
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "api/jobs.pb.h"
#include "base/version.h"
#include "cli/commands.h"
#include "engine/open.h"
#include "helpers/copy_file.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"

namespace minke::cli {
namespace {

struct Options {
  const char* command = "";
  bool force = false, preserve = false, keep = false, recursive = false;
  std::string fanout = "8", timeout = "0";  // only told of
  unsigned verbose = 0;
  std::string job;
  std::vector<std::string> names;
};

constexpr char kSbcastUsage[] =
    "Usage: sbcast [OPTIONS] SOURCE DEST\n"
    "  -C, --compress[=lib]  compress the file being transmitted\n"
    "      --exclude=<path>  comma-separated libraries not to send\n"
    "  -f, --force           replace destination file as required\n"
    "  -F, --fanout=num      specify message fanout\n"
    "  -j, --jobid=#[+#][.#] specify job ID with optional hetjob offset and/or step ID\n"
    "  -p, --preserve        preserve modes and times of source file\n"
    "      --send-libs[=yes|no]  send the libraries of an executable, too\n"
    "  -s, --size=num        block size in bytes (rounded off)\n"
    "  -t, --timeout=secs    specify message timeout (seconds)\n"
    "  -v, --verbose         provide detailed event logging\n"
    "  -V, --version         print version information and exit\n"
    "\nHelp options:\n"
    "  --help                show this help message\n"
    "  --usage               display brief usage message\n";
constexpr char kSgatherUsage[] =
    "Usage: sgather [OPTIONS] SOURCE DEST\n"
    "  -C, --compress        compress the file being transmitted\n"
    "  -f, --force           ignore nonexistent source files, replace destination files\n"
    "  -F, --fanout=num      specify message fanout\n"
    "  -k, --keep            do not remove source file after transmission\n"
    "  -p, --preserve        preserve modes and times of source file\n"
    "  -r, --recursive       copy directories recursively\n"
    "  -t, --timeout=secs    specify message timeout (seconds)\n"
    "  -v, --verbose         provide detailed event logging\n"
    "  -V, --version         print version information and exit\n"
    "\nHelp options:\n"
    "  --help                show this help message\n"
    "  --usage               display brief usage message\n";

constexpr char kShortSbcastUsage[] = "Usage: sbcast [-CfFjpstvV] [--exclude] [--send-libs] SOURCE DEST\n";
constexpr char kShortSgatherUsage[] = "Usage: sgather [-CfFkprtvV] SOURCE DEST\n";

int complain(const Options& options, const std::string& text) {
  std::fprintf(stderr, "%s: error: %s\n", options.command, text.c_str());
  return 1;
}

// The job that the command runs in, or --jobid's. Its nodes.
Result<std::vector<std::string>> nodes_of_job(const Options& options) {
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
  return nodes;
}

std::string with_name(std::string target, const std::string& source) {
  if (target.ends_with('/')) target += source.substr(source.rfind('/') + 1);
  return target;
}

// Nothing: go on.
std::optional<int> read_options(int argc, char** argv, bool gather, Options& options) {
  options.command = gather ? "sgather" : "sbcast";
  const option kLong[] = {{"compress", optional_argument, nullptr, 'C'},
                          {"exclude", required_argument, nullptr, 1},
                          {"fanout", required_argument, nullptr, 'F'},
                          {"force", no_argument, nullptr, 'f'},
                          {"help", no_argument, nullptr, 'h'},
                          {"jobid", required_argument, nullptr, 'j'},
                          {"keep", no_argument, nullptr, 'k'},
                          {"preserve", no_argument, nullptr, 'p'},
                          {"recursive", no_argument, nullptr, 'r'},
                          {"send-libs", optional_argument, nullptr, 1},
                          {"size", required_argument, nullptr, 's'},
                          {"timeout", required_argument, nullptr, 't'},
                          {"treewidth", required_argument, nullptr, 1},
                          {"usage", no_argument, nullptr, 2},
                          {"verbose", no_argument, nullptr, 'v'},
                          {"version", no_argument, nullptr, 'V'},
                          {nullptr, 0, nullptr, 0}};
  for (int letter; (letter = ::getopt_long(argc, argv, gather ? "CfF:hkprs:t:vV" : "C::fF:hj:ps:t:vV", kLong,
                                           nullptr)) != -1;) {
    switch (letter) {
      case 'f':
        options.force = true;
        break;
      case 'p':
        options.preserve = true;
        break;
      case 'k':
        options.keep = true;
        break;
      case 'v':
        ++options.verbose;
        break;
      case 'j':
        options.job = optarg;
        break;
      case 'r':
        options.recursive = true;
        break;
      case 'F':
        options.fanout = optarg;
        break;
      case 't':
        options.timeout = optarg;
        break;
      case 'h':
        std::fputs(gather ? kSgatherUsage : kSbcastUsage, stdout);
        return 0;
      case 2:
        std::fputs(gather ? kShortSgatherUsage : kShortSbcastUsage, stdout);
        return 0;
      case 'V':
        std::printf("%s %s\n", gather ? "sgather" : "slurm", kSlurmVersion);
        return 0;
      case '?':
        std::fprintf(stderr, "Try \"%s --help\" for more information\n", options.command);
        return 1;
      default:
        break;  // of the network
    }
  }
  for (int i = optind; i < argc; ++i) options.names.emplace_back(argv[i]);
  if (options.names.size() != 2) {
    std::fprintf(stderr, "Need two file names, have %zu names\n", options.names.size());
    std::fprintf(stderr, "Try \"%s --help\" for more information\n", options.command);
    return 1;
  }
  const auto is_set = [&](const char* name) { return !gather && std::getenv(name) != nullptr; };
  options.force = options.force || is_set("SBCAST_FORCE");
  options.preserve = options.preserve || is_set("SBCAST_PRESERVE");
  return std::nullopt;
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

int sbcast_main(int argc, char** argv) {
  Options options;
  if (const auto done = read_options(argc, argv, false, options)) return *done;
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
  if (const auto done = read_options(argc, argv, true, options)) return *done;
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
