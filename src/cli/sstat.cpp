// sstat: shows the current usage of the steps of running jobs. Reads its options, asks for each job, prints.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/step_usage.pb.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/step_record.pb.h"
#include "options/values.h"
#include "view/output.h"
#include "view/sstat.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr const char* kFormat =  // behind the step's id
    "maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,"
    "maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,avecpufreq,reqcpufreqmin,"
    "reqcpufreqmax,reqcpufreqgov,consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,"
    "maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,tresusageinave,tresusageinmax,"
    "tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,"
    "tresusageintot,"
    "tresusageoutave,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutmin,"
    "tresusageoutminnode,tresusageoutmintask,tresusageouttot";
constexpr const char* kPidFormat = "jobid,nodelist,pids";

using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

constexpr std::string_view kUsage = "Usage: sstat [options] -j <job(.stepid)>\n\tUse --help for help\n";

std::string default_format() {
  return (spoken_release() >= kSlurm26 ? "jobid,alloctres," : "jobid,") + std::string(kFormat);
}

struct Arguments {
  std::vector<text::JobReference> jobs;  // each once
  std::set<std::string> named;           // they
  std::string format = default_format();
  view::PrintLayout layout = view::PrintLayout::kFixed;
  bool all_steps = false;
  bool no_header = false;
  bool no_convert = false;
};

Ended add_jobs(Arguments& arguments, const std::string& list) {
  auto references = text::parse_job_id_list(list);
  if (!references)
    return view::print_error("sstat",
                             "Invalid job id specified: " + list + " (write 12, or 12.0 for a step)"),
           1;
  for (text::JobReference& reference : *references)
    if (arguments.named.insert(text::format_job_id(reference)).second)
      arguments.jobs.push_back(std::move(reference));
  return std::nullopt;
}

Ended jobs(Arguments& arguments, const Given& given) {
  return add_jobs(arguments, given.text());
}

Ended help_format(Arguments&, const Given&) {
  view::write_out(view::step_usage_help_format());
  return 0;
}

Ended pid_format(Arguments& arguments, const Given&) {
  arguments.format = kPidFormat;
  return std::nullopt;
}

// Columns: see options::Option.
constexpr options::Row<Arguments> kRows[] = {
    {{"allsteps", 'a', kNone, "", "all steps of the jobs, where no step is named"},
     options::flag<&Arguments::all_steps>},
    {{"format", 'o', kRequired, "fields", "name[%width],..."}, options::keep<&Arguments::format>},
    {{"fields", '\0', kRequired}, options::keep<&Arguments::format>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Arguments>},
    {{"helpformat", 'e', kNone, "", "the fields of --format"}, help_format},
    {{"jobs", 'j', kRequired, "job(.step)", "these jobs and steps; without a step the lowest numbered one",
      options::kRunningJobIds},
     jobs},
    {{"noconvert", '\0', kNone, "", "sizes in bytes"}, options::flag<&Arguments::no_convert>},
    {{"noheader", 'n', kNone, "", "no header"}, options::flag<&Arguments::no_header>},
    {{"parsable", 'p', kNone, "", "fields with | behind each"},
     options::set_to<view::PrintLayout::kParsable, &Arguments::layout>},
    {{"parsable2", 'P', kNone, "", "fields with | between them"},
     options::set_to<view::PrintLayout::kParsable2, &Arguments::layout>},
    {{"pidformat", 'i', kNone, "", "the processes of each step (JobId,Nodes,Pids)"}, pid_format},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Arguments>},
    {{"verbose", 'v', kNone}, options::ignored<Arguments>},
    {{"version", 'V', kNone, "", "version and exit"}, show_version<Arguments>},
};

const options::Table<Arguments>& table() {
  static const auto* const kTable =
      new options::Table<Arguments>({.name = "sstat",
                                     .purpose = "what the steps of running jobs use now",
                                     .operands = "-j <job(.stepid)>",
                                     .operand_values = options::kRunningJobIds,
                                     .usage = kUsage},
                                    kRows);
  return *kTable;
}

Ended read_arguments(int argc, char** argv, Arguments& arguments) {
  const CommandRead read = read_command(table(), argc, argv, arguments);
  if (read.status) return read.status;
  for (const std::string& operand : read.operands)
    if (const Ended ended = add_jobs(arguments, operand)) return ended;
  if (arguments.jobs.empty()) return view::print_error("sstat", "You didn't give me any jobs to stat."), 1;
  return std::nullopt;
}

// Chooses the named steps of a job; by default the lowest numbered one.
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

const options::Command& sstat_command() {
  return table().command;
}

int sstat_main(int argc, char** argv) {
  Arguments arguments;
  if (auto status = read_arguments(argc, argv, arguments)) return *status;
  auto columns =
      view::parse_print_format(view::step_usage_fields(), view::before_empty_field(arguments.format));
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
    // A refusal has a number of Slurm's; a cluster that cannot tell at all has none.
    if (!answer && answer.error().code == 0) return view::print_error("sstat", answer.error().message), 1;
    if (!answer) {
      view::print_error("sstat", "couldn't get steps for job " + name_of(job));
      continue;
    }
    context.now = answer->now();
    const auto steps = choose(*answer, job, arguments.all_steps);
    // A job with only a batch step has steps, though none that is listed by default.
    if (answer->steps().empty() || (job.step && steps.empty()))
      view::print_error(
          "sstat", "No steps running for job " + name_of(job) + " (of what has ended tell sacct and seff)");
    out.clear();
    for (const api::StepUsage* step : steps)
      append_print_line<view::StepUsageField>(*columns, arguments.layout, "|", *step, context, out);
    view::write_out(out);
  }
  return 0;
}

}  // namespace minke::cli
