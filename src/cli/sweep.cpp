#include "cli/sweep.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/submission.pb.h"
#include "cli/batch_submission.h"
#include "cli/complain.h"
#include "cli/parse_options.h"
#include "cli/srun/launch_environment.h"
#include "engine/open.h"
#include "os/files.h"
#include "os/random_key.h"
#include "search/parameter_words.h"
#include "submit/advice.h"
#include "submit/job_request.h"
#include "sweep/driver.h"
#include "sweep/optuna.h"
#include "sweep/report.h"
#include "sweep/serve.h"
#include "view/output.h"

namespace minke::cli {

namespace {

std::atomic<bool> interrupted = false;

struct SweepOptions {
  std::string file, directory, svg, optuna, csv;
  search::SweepWords words;
  std::vector<std::string> sbatch;
  uint64_t trials = 0, jobs = 0, seed = 0;
  bool json = false;
  bool until_input_ends = false;  // serve
};

int fail(const std::string& message) {
  return complain(Error{0, message});
}

size_t screen_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 80;
}

std::string absolute(const std::string& path) {
  char here[PATH_MAX];
  if (path.starts_with('/') || ::getcwd(here, sizeof here) == nullptr) return path;
  return std::string(here) + "/" + path;
}

// "DIR", or the name of a sweep below sweeps/; without one, the only sweep here.
Result<std::unique_ptr<sweep::Record>> find(const std::string& given) {
  for (const std::string& path : {given, "sweeps/" + given}) {
    if (!given.empty() && ::access((path + "/sweep.yaml").c_str(), F_OK) == 0)
      return sweep::Record::open(absolute(path));
  }
  return failure("there is no sweep " + given + ": give the directory that minke sweep run named");
}

// Of a file; else of the words. "runs/lr.yaml" is lr.
std::string name_of(const SweepOptions& options, const search::SweepFile& file) {
  std::string name = file.name;
  if (name.empty() && !options.file.empty()) {
    name = options.file.substr(options.file.rfind('/') + 1);
    name = name.substr(0, name.rfind('.'));
  }
  for (char& c : name) {
    if (c == '/' || static_cast<unsigned char>(c) < 0x21) c = '-';
  }
  while (name.starts_with('.')) name.erase(0, 1);
  return name.empty() ? "sweep" : name.substr(0, 100);
}

// A trial's job, as sbatch would read it.
struct TrialSubmission {
  std::vector<std::string> words;
  std::vector<char*> argv;  // of the words, and a null
  submit::Invocation invocation;
  submit::JobRequest request;
  int argc() const { return static_cast<int>(words.size()); }
};

Result<std::unique_ptr<TrialSubmission>> read_trial(const sweep::TrialJob& job) {
  auto trial = std::make_unique<TrialSubmission>();
  std::string log = job.log;
  for (size_t at = 0; (at = log.find('%', at)) != std::string::npos; at += 2) log.insert(at, "%");
  trial->words = {"sbatch", "--job-name=" + job.name};
  trial->words.insert(trial->words.end(), job.sbatch.begin(), job.sbatch.end());
  for (const std::string& word : {"--output=" + log, std::string("--open-mode=append"),
                                  std::string("--requeue"), "--chdir=" + job.work_dir})
    trial->words.push_back(word);
  for (std::string& word : trial->words) trial->argv.push_back(word.data());
  trial->argv.push_back(nullptr);
  trial->invocation = current_invocation(submit::Command::kSbatch, trial->argc(), trial->argv.data());
  const auto refused = [&](const submit::Refusal& refusal) {
    return failure("sbatch's options: " + submit::plain_refusal(trial->invocation, std::nullopt, refusal));
  };
  const auto line = submit::read_command_line(trial->invocation);
  if (!line) return refused(line.error());
  if (line->wrap || line->show != submit::ShowOnly::kNothing)
    return failure("sbatch's options: --wrap, --help and --version are not for a sweep");
  if (!line->positional.empty())
    return failure("sbatch's options for a sweep name no script: " + line->positional.front());
  auto request = submit::make_job_request(trial->invocation, *line, submit::ScriptFile{"", job.script});
  if (!request) return refused(request.error());
  trial->request = std::move(*request);
  return trial;
}

Result<uint32_t> submit_trial(engine::Engine& cluster, const sweep::TrialJob& job) {
  const auto trial = read_trial(job);
  if (!trial) return failure(trial.error());
  TrialSubmission& read = **trial;
  const auto reply =
      submit_batch(cluster, read.invocation, read.request, read.argc(), read.argv.data(), job.key);
  if (!reply) return failure(reply.error());
  return reply->job_id();
}

int steer(sweep::Record& record) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  if (const Status steering = record.steer(); !steering) return complain(steering.error());
  ::unlink(record.stop_path().c_str());
  std::signal(SIGINT, [](int) { interrupted = true; });
  std::signal(SIGTERM, [](int) { interrupted = true; });
  sweep::Surroundings around;
  around.submit = [&](const sweep::TrialJob& job) { return submit_trial(**cluster, job); };
  around.variable = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  around.say = [](const std::string& line) {
    view::write_out(line + "\n");
    std::fflush(stdout);
  };
  around.interrupted = [] { return interrupted.load(); };
  sweep::Driver driver(**cluster, record, std::move(around));
  const auto ending = driver.run();
  if (!ending)
    return fail(ending.error().message + "\nThe sweep is kept, and its jobs run on: minke sweep resume " +
                record.directory());
  if (*ending == sweep::Driver::Ending::kInterrupted) {
    view::write_out("Its jobs run on. Go on: minke sweep resume " + record.directory() + "\n");
    return 130;
  }
  if (*ending == sweep::Driver::Ending::kStopped) {
    view::write_out("The sweep is stopped. Go on: minke sweep resume " + record.directory() + "\n");
    return 0;
  }
  if (const auto best = sweep::best_text(record))
    view::write_out(*best);
  else if (!record.file().metric.empty())
    return fail("no trial has a value; minke sweep status " + record.directory() + " says why");
  return 0;
}

Result<std::string> text_of(const SweepOptions& options) {
  if (options.file.empty() && options.words.parameters.empty())
    return failure("name a sweep file, or parameters: --param lr=log:1e-5..1e-1");
  if (options.file.empty()) return search::sweep_text(options.words);
  auto read = os::read_file(options.file, search::kMaxSweepBytes);
  if (!read) return failure(options.file + ": " + read.error().message);
  return read;
}

// Makes the sweep that the options describe, or finds it begun. `with_jobs`: its trials are jobs.
Result<std::unique_ptr<sweep::Record>> begin(const SweepOptions& options, bool with_jobs) {
  const auto text = text_of(options);
  if (!text) return failure(text.error());
  const std::string source = options.file.empty() ? "the parameters" : options.file;
  const auto file = search::read_sweep_file(*text);
  if (!file) return failure(source + ": " + file.error().message);
  if (with_jobs && file->program.empty() && file->command.empty())
    return failure(source + ": it says nothing to run: add program: train.py, or a command:");
  for (const std::string& note : file->notes) std::fprintf(stderr, "minke: %s\n", note.c_str());
  sweep::Settings settings;
  settings.work_dir = absolute(".");
  settings.work_dir.resize(settings.work_dir.size() - 2);
  settings.jobs = options.jobs > 0 ? options.jobs : file->jobs > 0 ? file->jobs : 4;
  settings.trials = options.trials;
  settings.sbatch = options.sbatch;
  settings.seed = options.seed > 0 ? options.seed : 1;
  if (with_jobs) {
    sweep::TrialJob first;
    first.name = "sweep";
    first.script = "#!/bin/sh\n";
    first.log = "output.log";
    first.work_dir = settings.work_dir;
    first.sbatch = file->sbatch;
    first.sbatch.insert(first.sbatch.end(), settings.sbatch.begin(), settings.sbatch.end());
    if (const auto read = read_trial(first); !read)
      return failure(file->sbatch.empty() ? read.error().message : source + ": " + read.error().message);
  }
  const std::string directory =
      absolute(options.directory.empty() ? "sweeps/" + name_of(options, *file) : options.directory);
  return sweep::Record::create(directory, *text, settings);
}

int run(const SweepOptions& options) {
  auto record = begin(options, true);
  if (!record) return complain(record.error());
  const search::Plan& plan = (*record)->search().plan();
  view::write_out("Sweep " + (*record)->directory() + "\n");
  if (plan.trials == 0 && plan.sampler.method != search::Method::kGrid && !plan.population)
    view::write_out(
        "It goes on until minke sweep stop: --trials N, or run_cap: N in the file, gives it an end\n");
  std::fflush(stdout);
  return steer(**record);
}

int serve(const SweepOptions& options) {
  auto record = begin(options, false);
  if (!record) return complain(record.error());
  if (const Status steering = (*record)->steer(); !steering) return complain(steering.error());
  std::signal(SIGINT, [](int) { interrupted = true; });
  std::signal(SIGTERM, [](int) { interrupted = true; });
  const auto ready = [&] {
    view::write_out((*record)->directory() + "/socket\n");
    std::fflush(stdout);
  };
  const auto over = [&] {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte = 0;
    return interrupted.load() ||
           (options.until_input_ends && ::poll(&input, 1, 0) > 0 && ::read(STDIN_FILENO, &byte, 1) <= 0);
  };
  const Status served = sweep::serve(**record, ready, over);
  return served ? 0 : complain(served.error());
}

int stop(sweep::Record& record) {
  if (const Status asked = os::replace_file(record.stop_path(), "", 0600); !asked)
    return complain(asked.error());
  // Where nobody steers it, this process does what is left to do.
  if (!record.steer()) {
    view::write_out("The process that steers it ends its jobs\n");
    return 0;
  }
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  sweep::Surroundings around;
  around.say = [](const std::string&) {};
  around.interrupted = [] { return false; };
  sweep::Driver driver(**cluster, record, std::move(around));
  const auto ending = driver.run();
  if (!ending) return complain(ending.error());
  view::write_out("The sweep is stopped\n");
  return 0;
}

int show(const Result<std::string>& text) {
  if (!text) return complain(text.error());
  view::write_out(*text);
  return 0;
}

int show_or_write(const SweepOptions& options, const Result<std::string>& text,
                  const Result<std::string>& svg) {
  if (options.svg.empty()) return show(text);
  if (!svg) return complain(svg.error());
  if (const Status wrote = os::replace_file(options.svg, *svg, 0644); !wrote) return complain(wrote.error());
  return 0;
}

int export_it(const sweep::Record& record, const SweepOptions& options) {
  if (!options.optuna.empty()) {
    const std::string study = record.file().name.empty() ? "sweep" : record.file().name;
    const Status wrote = sweep::export_optuna(record, options.optuna, study);
    if (!wrote) return complain(wrote.error());
    view::write_out("optuna.load_study(study_name=\"" + study + "\", storage=\"sqlite:///" + options.optuna +
                    "\")\n");
    return 0;
  }
  if (!options.csv.empty()) {
    const Status wrote = os::replace_file(options.csv, sweep::csv(record), 0644);
    return wrote ? 0 : complain(wrote.error());
  }
  return show(sweep::status_json(record));
}

using Verb = int (*)(sweep::Record& record, const SweepOptions& options);

struct Row {
  const char* name;
  const char* help;
  Verb verb;
};

const Row kRows[] = {
    {"status", "its trials, their values and parameters",
     [](sweep::Record& record, const SweepOptions& options) {
       return show(options.json ? sweep::status_json(record)
                                : sweep::status_text(record, std::time(nullptr)));
     }},
    {"best", "the best trial",
     [](sweep::Record& record, const SweepOptions& options) {
       return show(options.json ? sweep::best_json(record) : sweep::best_text(record));
     }},
    {"curves", "the metric of the best trials as they trained; --svg: of all",
     [](sweep::Record& record, const SweepOptions& options) {
       const auto curves = sweep::read_curves(record);
       return show_or_write(options, sweep::curves_text(record, curves, screen_width() - 20),
                            sweep::curves_svg(record, curves));
     }},
    {"parallel", "where the best trials lie in each parameter's range",
     [](sweep::Record& record, const SweepOptions& options) {
       return show_or_write(options, sweep::parallel_text(record, screen_width()),
                            sweep::parallel_svg(record));
     }},
    {"importance", "how much each parameter matters",
     [](sweep::Record& record, const SweepOptions& options) {
       return show_or_write(options, sweep::importance_text(record, screen_width()),
                            sweep::importance_svg(record));
     }},
    {"stop", "end its jobs; it can go on later",
     [](sweep::Record& record, const SweepOptions&) { return stop(record); }},
    {"resume", "go on with it", [](sweep::Record& record, const SweepOptions&) { return steer(record); }},
    {"export", "its trials as JSON, CSV, or a study of Optuna's",
     [](sweep::Record& record, const SweepOptions& options) { return export_it(record, options); }},
};

void add_beginning(CLI::App& app, SweepOptions& options, int& exit_code, bool with_jobs) {
  CLI::App* command = with_jobs
                          ? app.add_subcommand("run", "begin a sweep, and steer it until it is done")
                          : app.add_subcommand("serve", "answer loops that ask what to try, over a socket");
  command->add_option("file", options.file, "sweep file, as W&B has it");
  command->add_option("-d,--directory", options.directory, "where it is kept (default: sweeps/NAME)");
  command->add_option("-n,--trials", options.trials, "at most so many trials");
  command->add_option("--seed", options.seed, "another one gives another search (default: 1)");
  if (!with_jobs)
    command->add_flag("--until-input-ends", options.until_input_ends,
                      "end with standard input: with the program that started it");
  if (with_jobs) {
    command
        ->add_option("-p,--param", options.words.parameters,
                     "without a file: lr=log:1e-5..1e-1, opt=adam,sgd …")
        ->allow_extra_args(false);
    command->add_option("--metric", options.words.metric, "without a file: what the training writes it as");
    command->add_option("--goal", options.words.goal, "minimize or maximize")
        ->check(CLI::IsMember({"minimize", "maximize"}));
    command->add_option("--method", options.words.method,
                        "without a file: random, grid, bayes, tpe, sobol, halton");
    command->add_option("--name", options.words.name, "without a file: its name");
    command->add_option("-j,--jobs", options.jobs, "jobs at a time (default: 4)")
        ->check(CLI::Range(1, 10000));
    command->add_option("--sbatch", options.sbatch, "an option for the jobs: --sbatch=--time=1:00:00")
        ->allow_extra_args(false);
    command->footer(
        "without a file, the command follows behind --: minke sweep run --param lr=log:1e-5..1e-1 --metric "
        "loss "
        "-n 20 -- python train.py");
  }
  command->callback(
      [&options, &exit_code, with_jobs] { exit_code = with_jobs ? run(options) : serve(options); });
}

}  // namespace

int sweep_main(int argc, char** argv) {
  SweepOptions options;
  int exit_code = 0;
  const auto dashes =
      std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  for (char** word = dashes; word < argv + argc; ++word) {
    if (word != dashes) options.words.command.emplace_back(*word);
  }
  CLI::App app{"Searches for hyperparameters on the cluster: docs/sweeps.md", "minke sweep"};
  app.require_subcommand(1);
  add_beginning(app, options, exit_code, true);
  add_beginning(app, options, exit_code, false);
  for (const Row& row : kRows) {
    CLI::App* command = app.add_subcommand(row.name, row.help);
    const std::string name = row.name;
    command->add_option("sweep", options.directory, "its directory, or its name below sweeps/")->required();
    if (name == "status" || name == "best") command->add_flag("--json", options.json, "as JSON");
    if (name == "curves" || name == "parallel" || name == "importance")
      command->add_option("--svg", options.svg, "a picture in this file");
    if (name == "export") {
      command->add_option("--optuna", options.optuna, "a database of Optuna's, with the sweep as a study");
      command->add_option("--csv", options.csv, "a table");
    }
    command->callback([&options, &exit_code, verb = row.verb] {
      auto record = find(options.directory);
      exit_code = record ? verb(**record, options) : complain(record.error());
    });
  }
  if (const auto over = parse_options(app, static_cast<int>(dashes - argv), argv)) return *over;
  return exit_code;
}

}  // namespace minke::cli
