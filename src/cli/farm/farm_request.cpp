#include "cli/farm/farm_request.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "api/submission.pb.h"
#include "cli/srun/launch_environment.h"
#include "engine/open.h"
#include "model/job_spec.pb.h"
#include "os/fd.h"
#include "os/helper_program.h"
#include "os/minke_home.h"
#include "os/this_program.h"
#include "submit/advice.h"
#include "submit/job_request.h"
#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::cli {
namespace {

using Words = std::vector<std::string>;

struct OwnOption {
  std::string_view name;
  bool has_value;
};
constexpr OwnOption kOwn[] = {{"--dir", true},         {"--jobs", true},          {"--at-once", true},
                              {"--retry", true},       {"--retry-codes", true},   {"--no-retry-lost", false},
                              {"--more-memory", true}, {"--cpus-per-case", true}, {"--form", true},
                              {"--glob", true},        {"--detach", false}};

// The farm's own options out of the words; what is left is sbatch's.
Result<std::map<std::string, std::string>> take_own(Words& words) {
  std::map<std::string, std::string> own;
  Words left;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string name = word.substr(0, word.find('='));
    const auto* option = std::find_if(std::begin(kOwn), std::end(kOwn),
                                      [&](const OwnOption& one) { return one.name == name; });
    if (option == std::end(kOwn)) {
      left.push_back(word);
      continue;
    }
    if (!option->has_value) {
      if (word != name) return failure(name + " takes no value");
      own[name] = "1";
    } else if (word != name) {
      own[name] = word.substr(name.size() + 1);
    } else if (i + 1 < words.size()) {
      own[name] = words[++i];
    } else {
      return failure(name + " needs a value");
    }
  }
  words = std::move(left);
  return own;
}

Result<uint32_t> number(const std::map<std::string, std::string>& own, const std::string& name,
                        uint32_t least, uint32_t most, uint32_t otherwise) {
  const auto at = own.find(name);
  if (at == own.end()) return otherwise;
  const auto value = text::parse_unsigned(at->second, most);
  if (!value || *value < least)
    return failure(name + " is a number from " + std::to_string(least) + " to " + std::to_string(most) +
                   ", not " + at->second);
  return static_cast<uint32_t>(*value);
}

Status set_own(const std::map<std::string, std::string>& own, FarmRequest& request) {
  farming::FarmSettings& settings = request.settings;
  struct Number {
    const char* name;
    uint32_t least, most;
    uint32_t* place;
  };
  const bool is_auto = own.contains("--jobs") && own.at("--jobs") == "auto";
  auto numbers = own;
  if (is_auto) numbers.erase("--jobs");
  for (const Number& one :
       {Number{"--jobs", 1, 100'000, &settings.jobs}, Number{"--at-once", 1, 4096, &settings.at_once},
        Number{"--retry", 0, 1000, &settings.rule.times},
        Number{"--more-memory", 0, farm::kHighestLevel, &settings.rule.most_level},
        Number{"--cpus-per-case", 1, 4096, &settings.cpus_per_case}}) {
    const auto value = number(numbers, one.name, one.least, one.most, *one.place);
    if (!value) return failure(value.error());
    *one.place = *value;
  }
  if (own.contains("--retry-codes")) {
    auto codes = farm::parse_exit_codes(own.at("--retry-codes"));
    if (!codes) return failure("--retry-codes: " + codes.error().message);
    settings.rule.codes = std::move(*codes);
    if (settings.rule.times == 0) settings.rule.times = 1;
  }
  settings.rule.lost = !own.contains("--no-retry-lost");
  request.detach = own.contains("--detach");
  if (own.contains("--glob")) request.glob = own.at("--glob");
  if (own.contains("--form")) {
    const auto form = farm::parse_form(own.at("--form"));
    if (!form) return failure("--form: " + form.error().message);
    settings.form = *form;
    request.form_is_given = true;
  }
  return {};
}

// The program that runs in the jobs: the cluster's own, which is kept up to date; on a real Slurm the one
// that runs now, which must lie where the nodes see it.
Result<std::string> worker_program(engine::Engine& cluster) {
  const auto self = cluster.identity();
  if (!self) return failure(self.error());
  if (self->product == "Slurm") return os::this_program();
  const auto home = os::minke_home();
  if (!home) return home;
  return os::bin_path(*home) + "/minke";
}

Status check_request(const submit::JobRequest& request) {
  if (!request.het_components.empty()) return failure("a farm's jobs cannot be heterogeneous");
  if (request.spec.has_array())
    return failure("--array is not for farms: --jobs says how many jobs there are");
  if (request.spec.min_nodes() > 1)
    return failure("a farm's job is on one node; --jobs gives it more of them");
  return {};
}

struct Line {
  Words words;
  std::vector<char*> argv;
  submit::Invocation invocation;
  submit::CommandLine read;
  int argc() const { return static_cast<int>(words.size()); }
};

// sbatch's options, as it reads them itself.
Result<Line> read_options(const Words& options) {
  Line line;
  line.words = options;
  line.words.insert(line.words.begin(), "sbatch");
  for (std::string& word : line.words) line.argv.push_back(word.data());
  line.argv.push_back(nullptr);
  line.invocation = current_invocation(submit::Command::kSbatch, line.argc(), line.argv.data());
  auto read = submit::read_command_line(line.invocation);
  if (!read) return failure(submit::plain_refusal(line.invocation, std::nullopt, read.error()));
  if (read->wrap || read->external || read->show != submit::ShowOnly::kNothing)
    return failure(
        "--wrap, --external, --help and --version are not for farms: the command stands behind --");
  line.read = std::move(*read);
  return line;
}

// The table stands in front of the options, or behind them.
Status take_table(Words& words, FarmRequest& request) {
  if (!words.empty() && (words.front() == "-" || !words.front().starts_with('-'))) {
    request.table = words.front();
    words.erase(words.begin());
  }
  const auto line = read_options(words);
  if (!line) return failure(line.error());
  for (const std::string& word : line->read.positional) {
    if (!request.table.empty())
      return failure("one table, and not also " + word + "; the command stands behind --");
    request.table = word;
    words.pop_back();
  }
  return {};
}

// The request for one of its jobs, but for their number and time.
Result<std::string> make_job_request(const Words& options, FarmRequest& farm) {
  auto line = read_options(options);
  if (!line) return failure(line.error());
  const auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  const auto program = worker_program(**cluster);
  if (!program) return program;
  const std::string script = "#!/bin/sh\nexec " + text::shell_quoted(*program) + " " +
                             std::string(os::helper_name(os::Helper::kFarmWorker)) + " " +
                             text::shell_quoted(farm.directory);
  auto request = submit::make_job_request(line->invocation, line->read, submit::ScriptFile{"", script});
  if (!request) return failure(submit::plain_refusal(line->invocation, std::nullopt, request.error()));
  if (const Status fine = check_request(*request); !fine) return failure(fine.error());
  model::JobSpec& spec = request->spec;
  if (!request->is_given("job-name"))
    spec.set_name(std::filesystem::path(farm.directory).filename().string());
  if (spec.stdout_path().empty()) spec.set_stdout_path(farm.directory + "/jobs/%j.out");
  if (!spec.has_min_nodes()) {
    spec.set_min_nodes(1);
    spec.set_max_nodes(1);
  }
  complete_submission(*request, line->argc(), line->argv.data());
  auto environment = job_environment(line->invocation, *request);
  if (!environment) return failure(environment.error());
  api::SubmitRequest submission;
  put_specs(*request, submission);
  submission.set_script(script);
  submission.set_environment(std::move(*environment));
  return submission.SerializeAsString();
}

std::string default_directory(const FarmRequest& request) {
  const std::string name = std::filesystem::path(request.table).stem().string();
  return (request.table.empty() || request.table == "-" || name.empty() ? "cases" : name) + ".farm";
}

}  // namespace

farming::LineSource lines_of_file(const std::string& path) {
  return [path](const std::function<Status(std::string_view)>& take) -> Status {
    const os::UniqueFd opened(path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) return failure_from_errno(path, errno);
    std::string unread;
    char buffer[256 << 10];
    for (;;) {
      const ssize_t got = ::read(opened.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure_from_errno(path, errno);
      if (got == 0) return unread.empty() ? Status() : take(unread);
      unread.append(buffer, static_cast<size_t>(got));
      size_t begin = 0;
      for (size_t end; (end = unread.find('\n', begin)) != std::string::npos; begin = end + 1)
        if (const Status taken = take(std::string_view(unread).substr(begin, end - begin)); !taken)
          return taken;
      unread.erase(0, begin);
      if (unread.size() > (size_t{1} << 21)) return take(unread);  // who takes it says which line is too long
    }
  };
}

farming::LineSource lines_of_glob(const std::string& pattern) {
  return [pattern](const std::function<Status(std::string_view)>& take) -> Status {
    glob_t found{};
    const int problem = ::glob(pattern.c_str(), 0, nullptr, &found);
    Status taken;
    if (problem == GLOB_NOMATCH) taken = failure("no file fits " + pattern);
    for (size_t i = 0; i < found.gl_pathc && taken; ++i) {
      const std::string_view path = found.gl_pathv[i];
      taken = path.find('\n') == std::string_view::npos ? take(path)
                                                        : Status(failure("a file's name has a line feed"));
    }
    ::globfree(&found);
    return taken;
  };
}

Result<FarmRequest> read_farm_request(int argc, char** argv) {
  FarmRequest request;
  Words words(argv + 1, argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end()) request.settings.words.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
  const auto own = take_own(words);
  if (!own) return failure(own.error());
  if (const Status set = set_own(*own, request); !set) return failure(set.error());
  if (const Status taken = take_table(words, request); !taken) return failure(taken.error());
  std::error_code problem;
  const auto here = std::filesystem::current_path(problem);
  if (problem) return failure("the working directory: " + problem.message());
  request.settings.directory = here.string();
  const auto place = [&](const std::string& name) { return (here / name).lexically_normal().string(); };
  request.directory = place(own->contains("--dir") ? own->at("--dir") : default_directory(request));
  while (request.directory.size() > 1 && request.directory.back() == '/') request.directory.pop_back();
  auto job = make_job_request(words, request);
  if (!job) return failure(job.error());
  request.job_request = std::move(*job);
  if (request.table.empty() == request.glob.empty())
    return failure("which cases? Name a table, - for standard input, or --glob PATTERN");
  if (!request.form_is_given) request.settings.form = farm::form_of_name(request.table);
  if (!request.settings.words.empty()) {
    if (const auto fine = farm::CommandTemplate::make(request.settings.words); !fine)
      return failure(fine.error());
  } else if (request.settings.form != farm::TableForm::kLines || !request.glob.empty()) {
    return failure("no command: what runs a case stands behind --, as in -- ./case {}");
  }
  return request;
}

}  // namespace minke::cli
