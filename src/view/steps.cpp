#include "view/steps.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/step_record.pb.h"
#include "text/file_pattern.h"
#include "view/step_requests.h"

namespace minke::view {
namespace {

using Context = DisplayContext;

constexpr const char* kDefaultFormat = "%.15i %.8j %.9P %.8u %.9M %N";

void null(const StepLine&, const Context&, std::string& out) {
  out += "(null)";
}
void cluster(const StepLine&, const Context& context, std::string& out) {
  out += context.cluster_name;
}
void time_limit(const StepLine& line, const Context&, std::string& out) {
  if (line.step->has_time_limit_minutes()) {
    append_elapsed(out, int64_t{60} * line.step->time_limit_minutes());
  } else {
    out += "UNLIMITED";
  }
}
void cpu_frequency(const StepLine&, const Context&, std::string& out) {
  out += "Unknown-Unknown:Unknown";
}
void step_id(const StepLine& line, const Context&, std::string& out) {
  append_step_id(out, *line.step, false, line.job);
}
void job_id(const StepLine& line, const Context&, std::string& out) {
  append_number(out, line.step->job_id());
}
void array_job_id(const StepLine& line, const Context&, std::string& out) {
  append_number(out, line.step->array_job_id());
}
void array_task_id(const StepLine& line, const Context&, std::string& out) {
  if (line.step->has_array_task_id()) {
    append_number(out, line.step->array_task_id());
  } else {
    out += "N/A";
  }
}
void name(const StepLine& line, const Context&, std::string& out) {
  out += line.step->name();
}
void cpus(const StepLine& line, const Context&, std::string& out) {
  append_number(out, line.step->num_cpus());
}
void tasks(const StepLine& line, const Context&, std::string& out) {
  append_number(out, line.step->num_tasks());
}
void nodes(const StepLine& line, const Context&, std::string& out) {
  out += line.step->node_list();
}
void partition(const StepLine& line, const Context&, std::string& out) {
  out += line.job->partition();
}
void state(const StepLine& line, const Context&, std::string& out) {
  out += step_state_text(*line.step);
}
void start_time(const StepLine& line, const Context& context, std::string& out) {
  append_time(out, line.step->start_time(), context);
}
void time_used(const StepLine& line, const Context& context, std::string& out) {
  int64_t end = line.step->end_time() != 0 ? line.step->end_time() : context.now;
  append_elapsed(out, line.step->start_time() == 0 ? 0 : end - line.step->start_time());
}
void container(const StepLine& line, const Context&, std::string& out) {
  out += line.step->container().empty() ? "(null)" : line.step->container();
}
void user_id(const StepLine& line, const Context&, std::string& out) {
  append_number(out, line.job->uid());
}
void user_name(const StepLine& line, const Context&, std::string& out) {
  if (line.job->user_name().empty()) {
    append_number(out, line.job->uid());
  } else {
    out += line.job->user_name();
  }
}
void container_id(const StepLine& line, const Context&, std::string& out) {
  out += line.step->container_id().empty() ? "(null)" : line.step->container_id();
}
template <auto kPath>
void stream(const StepLine& line, const Context& context, std::string& out) {
  const std::string& path = (line.step->*kPath)();
  out += context.expand_patterns ? step_file(line, path) : path;
}
void gres(const StepLine& line, const Context&, std::string& out) {
  append_gres_request(out, line.step->tres_gres(), "(null)");
}

enum Request { kByJob, kByNode, kBySocket, kByTask, kBinding, kFrequency, kCpusByGpu, kMemoryByGpu };
constexpr std::string_view kRequestNames[] = {"TresPerStep", "TresPerNode", "TresPerSocket", "TresPerTask",
                                              "TresBind",    "TresFreq",    "CpusPerTres",   "MemPerTres"};
template <Request kWanted>
void request(const StepLine& line, const Context& context, std::string& out) {
  for (const RequestWord& word : step_requests(*line.step, line.job->spec(), context.release)) {
    if (word.name == kRequestNames[kWanted]) return void(out += word.text);
  }
  out += "(null)";
}

constexpr Overflow kCut = Overflow::kCut;
constexpr Overflow kSpill = Overflow::kSpill;

// Letters first, in the order of %all. The titles are Slurm's, even if they are surprising.
constexpr TableField<StepLine> kFields[] = {
    {'b', "tres-per-node", "TRES_PER_JOB", kCut, kCut, request<kByNode>},
    {'i', "stepid", "STEPID", kCut, kCut, step_id},
    {'j', "stepname", "NAME", kCut, kCut, name},
    {'l', "timelimit", "TIME_LIMIT", kCut, kCut, time_limit},
    {'u', "username", "USER", kCut, kCut, user_name},
    {'A', "numtasks", "TASKS", kCut, kCut, tasks},
    {'M', "timeused", "TIME", kCut, kCut, time_used},
    {'N', "nodes", "NODELIST", kSpill, kSpill, nodes},
    {'P', "partition", "PARTITION", kCut, kCut, partition},
    {'S', "starttime", "START_TIME", kCut, kCut, start_time},
    {'U', "userid", "UID", kCut, kCut, user_id},
    {'\0', "arrayjobid", "ARRAY_JOB_ID", kCut, kCut, array_job_id},
    {'\0', "arraytaskid", "ARRAY_TASK_ID", kCut, kCut, array_task_id},
    {'\0', "cluster", "CLUSTER", kCut, kCut, cluster},
    {'\0', "container", "CONTAINER", kCut, kCut, container},
    {'\0', "containerid", "CONTAINERID", kCut, kCut, container_id},
    {'\0', "containertype", "CONTAINERTYPE", kCut, kCut, null},
    {'\0', "cpufreq", "CPU_FREQ", kCut, kCut, cpu_frequency},
    {'\0', "cpus-per-tres", "CPUS_PER_TRES", kCut, kCut, request<kCpusByGpu>},
    {'\0', "gres", "TRES_PER_JOB", kCut, kCut, gres},
    {'\0', "jobid", "JOB_ID", kCut, kCut, job_id},
    {'\0', "mem-per-tres", "MEM_PER_TRES", kCut, kCut, request<kMemoryByGpu>},
    {'\0', "name", "NAME", kCut, kCut, name},
    {'\0', "network", "NETWORK", kCut, kCut, null},
    {'\0', "nodelist", "NODELIST", kSpill, kSpill, nodes},
    {'\0', "numcpus", "NUM_CPUS", kCut, kCut, cpus},
    {'\0', "resvports", "RESERVED_PORTS", kCut, kCut, null},
    {'\0', "stderr", "STDERR", kCut, kCut, stream<&model::StepRecord::stderr_path>},
    {'\0', "stdin", "STDIN", kCut, kCut, stream<&model::StepRecord::stdin_path>},
    {'\0', "stdout", "STDOUT", kCut, kCut, stream<&model::StepRecord::stdout_path>},
    {'\0', "stepstate", "STATE", kCut, kCut, state},
    {'\0', "tres-bind", "TRES_BIND", kCut, kCut, request<kBinding>},
    {'\0', "tres-freq", "TRES_FREQ", kCut, kCut, request<kFrequency>},
    {'\0', "tres-per-job", "TRES_PER_STEP", kCut, kCut, request<kByJob>},
    {'\0', "tres-per-socket", "TRES_PER_SOCKET", kCut, kCut, request<kBySocket>},
    {'\0', "tres-per-step", "TRES_PER_STEP", kCut, kCut, request<kByJob>},
    {'\0', "tres-per-task", "TRES_PER_TASK", kCut, kCut, request<kByTask>},
};

constexpr std::span<const TableField<StepLine>> kFieldList = kFields;

bool is_selected(const model::StepRecord& step, const SqueueOptions& options) {
  if (options.steps.empty()) return true;
  return std::any_of(options.steps.begin(), options.steps.end(), [&](const StepSelector& selector) {
    if (selector.kind && (*selector.kind != step.kind() ||
                          (*selector.kind == model::STEP_NORMAL && selector.step_id != step.step_id())))
      return false;
    if (selector.job.tasks().empty())
      return selector.job.job_id() == step.job_id() ||
             (step.array_job_id() != 0 && selector.job.job_id() == step.array_job_id());
    return selector.job.job_id() == step.array_job_id() && step.has_array_task_id() &&
           selector.job.tasks(0).first() == step.array_task_id();
  });
}

int compare_by(char letter, const StepLine& left, const StepLine& right) {
  auto three_way = [](auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; };
  switch (letter) {
    case 'P':
      return left.job->partition().compare(right.job->partition());
    case 'i': {
      int order = three_way(left.step->job_id(), right.step->job_id());
      if (order == 0) order = three_way(step_rank(*left.step), step_rank(*right.step));
      return order;
    }
    case 'j':
      return left.step->name().compare(right.step->name());
    case 'u':
      return left.job->user_name().compare(right.job->user_name());
    case 'U':
      return three_way(left.job->uid(), right.job->uid());
    case 'N':
      return left.step->node_list().compare(right.step->node_list());
    case 'M':
      return -three_way(left.step->start_time(), right.step->start_time());
    case 'S':
      return three_way(left.step->start_time(), right.step->start_time());
    case 'A':
      return three_way(left.step->num_tasks(), right.step->num_tasks());
    default:
      return 0;
  }
}

}  // namespace

std::string step_file(const StepLine& line, const std::string& pattern) {
  if (pattern.empty()) return {};
  text::FilePatternValues values;
  values.job_id = line.job->job_id();
  values.array_job_id = line.job->array_job_id();
  if (line.job->has_array_task_id()) values.array_task_id = line.job->array_task_id();
  values.step = std::to_string(line.step->step_id());
  values.job_name = line.job->name().empty() ? line.job->spec().name() : line.job->name();
  values.user_name = line.job->user_name();
  values.host_name = line.step->node_list().substr(0, line.step->node_list().find_first_of("[,"));
  const std::string path = text::expand_file_pattern(pattern, values);
  return path.starts_with('/') ? path : line.job->spec().work_dir() + "/" + path;
}

Result<std::vector<StepLine>> step_lines(std::span<const model::StepRecord* const> steps,
                                         std::span<const model::JobRecord* const> jobs,
                                         const SqueueOptions& options) {
  std::string_view sort = options.sort ? std::string_view(*options.sort) : "P,i";
  for (char c : sort)  // letters that name no field of steps order nothing
    if (c != ',' && c != '+' && c != '-' && std::isalpha(static_cast<unsigned char>(c)) == 0)
      return failure(std::string("Invalid sort specification: ") + c);
  std::unordered_map<uint32_t, const model::JobRecord*> job_by_id;
  for (const model::JobRecord* job : jobs) job_by_id.emplace(job->job_id(), job);
  std::vector<StepLine> lines;
  for (const model::StepRecord* step : steps) {
    auto job = job_by_id.find(step->job_id());
    if (job != job_by_id.end() && is_selected(*step, options)) lines.push_back({step, job->second});
  }
  std::stable_sort(lines.begin(), lines.end(), [&](const StepLine& left, const StepLine& right) {
    bool descending = false;
    for (char c : sort) {
      if (c == ',' || c == '+' || c == '-') {
        descending = c == '-';
        continue;
      }
      if (int order = compare_by(c, left, right); order != 0) return descending ? order > 0 : order < 0;
      descending = false;
    }
    return false;
  });
  return lines;
}

Table<StepLine> step_table(const SqueueOptions& options, std::vector<std::string>& problems) {
  if (options.long_format)
    return Table<StepLine>::from_long_format(kFieldList, *options.long_format, problems);
  std::string_view format = options.format ? std::string_view(*options.format) : kDefaultFormat;
  if (format == "%all") return Table<StepLine>::all(kFieldList, "|", "|");
  return Table<StepLine>::from_short_format(kFieldList, format, problems);
}

}  // namespace minke::view
