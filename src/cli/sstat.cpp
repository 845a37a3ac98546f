// sstat: what the steps of running jobs use now. Reads its options, asks for each job, prints.
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "api/step_usage.pb.h"
#include "cli/commands.h"
#include "cli/version_line.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/step_record.pb.h"
#include "view/output.h"
#include "view/sstat.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr const char* kFormat =
    "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,"
    "maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,avecpufreq,reqcpufreqmin,"
    "reqcpufreqmax,reqcpufreqgov,consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,"
    "maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,tresusageinave,tresusageinmax,"
    "tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,"
    "tresusageintot,"
    "tresusageoutave,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutmin,"
    "tresusageoutminnode,tresusageoutmintask,tresusageouttot";
constexpr const char* kPidFormat = "jobid,nodelist,pids";

constexpr const char* kHelp =
    "sstat [<OPTION>] -j <job(.stepid)>\n"
    "    Valid <OPTION> values are:\n"
    "      -a, --allsteps:   all steps of the jobs, where no step is named\n"
    "      -e, --helpformat: the fields of --format\n"
    "      -h, --help:       this text\n"
    "      -i, --pidformat:  the processes of each step (JobId,Nodes,Pids)\n"
    "      -j, --jobs:       comma-separated list of <job(.step)>; without a step the lowest numbered one\n"
    "      -n, --noheader:   no header\n"
    "          --noconvert:  sizes in bytes\n"
    "      -o, --format:     name[%width],...\n"
    "      -p, --parsable:   '|' delimited with a '|' at the end\n"
    "      -P, --parsable2:  '|' delimited without a '|' at the end\n"
    "          --usage:      brief usage message\n"
    "      -V, --version:    version and exit\n";

enum LongOption { kNoConvert = 256, kUsageOption };

constexpr option kLongOptions[] = {{"allsteps", no_argument, nullptr, 'a'},
                                   {"format", required_argument, nullptr, 'o'},
                                   {"fields", required_argument, nullptr, 'o'},
                                   {"help", no_argument, nullptr, 'h'},
                                   {"helpformat", no_argument, nullptr, 'e'},
                                   {"jobs", required_argument, nullptr, 'j'},
                                   {"noconvert", no_argument, nullptr, kNoConvert},
                                   {"noheader", no_argument, nullptr, 'n'},
                                   {"parsable", no_argument, nullptr, 'p'},
                                   {"parsable2", no_argument, nullptr, 'P'},
                                   {"pidformat", no_argument, nullptr, 'i'},
                                   {"usage", no_argument, nullptr, kUsageOption},
                                   {"verbose", no_argument, nullptr, 'v'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {nullptr, 0, nullptr, 0}};

struct Arguments {
  std::vector<text::JobReference> jobs;
  std::string format = kFormat;
  view::PrintLayout layout = view::PrintLayout::kFixed;
  bool all_steps = false;
  bool no_header = false;
  bool no_convert = false;
};

Status add_jobs(const char* list, Arguments& arguments) {
  auto references = text::parse_job_id_list(list);
  if (!references) return failure("Invalid job id specified: " + std::string(list));
  for (text::JobReference& reference : *references) arguments.jobs.push_back(std::move(reference));
  return {};
}

std::optional<int> read_arguments(int argc, char** argv, Arguments& arguments) {
  Status status;
  optind = 0;
  int letter;
  while (status && (letter = getopt_long(argc, argv, "aehij:no:pPvV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'a':
        arguments.all_steps = true;
        break;
      case 'e':
        view::write_out(view::step_usage_help_format());
        return 0;
      case 'h':
        view::write_out(kHelp);
        return 0;
      case 'i':
        arguments.format = kPidFormat;
        break;
      case 'j':
        status = add_jobs(optarg, arguments);
        break;
      case 'n':
        arguments.no_header = true;
        break;
      case 'o':
        arguments.format = optarg;
        break;
      case 'p':
        arguments.layout = view::PrintLayout::kParsable;
        break;
      case 'P':
        arguments.layout = view::PrintLayout::kParsable2;
        break;
      case 'v':
        break;
      case 'V':
        view::write_out(kVersionLine);
        return 0;
      case kNoConvert:
        arguments.no_convert = true;
        break;
      case kUsageOption:
        view::write_out("Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n");
        return 0;
      default:
        std::fputs("Try \"sstat --help\" for more information\n", stderr);
        return 1;
    }
  }
  for (; status && optind < argc; ++optind) status = add_jobs(argv[optind], arguments);
  if (!status) return view::print_error("sstat", status.error().message), 1;
  if (arguments.jobs.empty()) return view::print_error("sstat", "You didn't give me any jobs to stat."), 1;
  return std::nullopt;
}

// Of a job's steps those that were named; where none was, the lowest numbered one.
std::vector<const api::StepUsage*> choose(const api::StepUsageReply& reply, const text::JobReference& wanted,
                                          bool all_steps) {
  std::vector<const api::StepUsage*> steps;
  for (const api::StepUsage& usage : reply.steps()) {
    const model::StepRecord& step = usage.step();
    if (wanted.step && (step.kind() != wanted.step->kind ||
                        (step.kind() == model::STEP_NORMAL && step.step_id() != wanted.step->step_id)))
      continue;
    steps.push_back(&usage);
  }
  // sstat lists the batch script's step first.
  const auto rank = [](const api::StepUsage* usage) {
    const model::StepRecord& step = usage->step();
    const int64_t within =
        step.kind() == model::STEP_NORMAL ? int64_t{step.step_id()} : -view::step_rank(step);
    return std::pair(step.job_id(), within);
  };
  std::stable_sort(steps.begin(), steps.end(),
                   [&](auto* left, auto* right) { return rank(left) < rank(right); });
  if (wanted.step || all_steps) return steps;
  std::erase_if(steps,
                [](const api::StepUsage* usage) { return usage->step().kind() != model::STEP_NORMAL; });
  if (steps.size() > 1) steps.erase(steps.begin() + 1, steps.end());
  return steps;
}

std::string name_of(const text::JobReference& job) {
  std::string name = std::to_string(job.job_id);
  if (job.tasks.ranges_size() == 1) name += "_" + std::to_string(job.tasks.ranges(0).first());
  return name;
}

}  // namespace

int sstat_main(int argc, char** argv) {
  Arguments arguments;
  if (auto status = read_arguments(argc, argv, arguments)) return *status;
  auto columns = view::parse_print_format(view::step_usage_fields(), arguments.format);
  if (!columns) return view::print_error("sstat", columns.error().message), 1;
  auto cluster = engine::open();
  if (!cluster) return view::print_error("sstat", cluster.error().message), 1;
  const auto ability = (*cluster)->measurements();
  if (!ability) return view::print_error("sstat", ability.error().message), 1;
  view::DisplayContext context = view::display_context_from_environment();
  context.convert_units = !arguments.no_convert;
  std::string out;
  if (!arguments.no_header) append_print_header<view::StepUsageField>(*columns, arguments.layout, "|", out);
  view::write_out(out);
  for (const text::JobReference& job : arguments.jobs) {
    api::QueryStepUsageRequest request;
    *request.mutable_filter()->add_jobs() = engine::selector_of(job);
    const auto answer = (*ability)->step_usage(request);
    if (!answer) {
      view::print_error("sstat", "couldn't get steps for job " + name_of(job));
      continue;
    }
    context.now = answer->now();
    const auto steps = choose(*answer, job, arguments.all_steps);
    // A job whose batch script alone runs has steps, though none that is listed unasked.
    if (answer->steps().empty() || (job.step && steps.empty()))
      view::print_error("sstat", "No steps running for job " + name_of(job));
    out.clear();
    for (const api::StepUsage* step : steps)
      append_print_line<view::StepUsageField>(*columns, arguments.layout, "|", *step, context, out);
    view::write_out(out);
  }
  return 0;
}

}  // namespace minke::cli
