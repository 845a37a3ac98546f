#include "view/sstat.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "api/step_usage.pb.h"
#include "model/step_record.pb.h"
#include "text/sluid.h"
#include "view/metered.h"

namespace minke::view {
namespace {

using api::StepUsage;
using api::TaskUsage;
using Context = DisplayContext;

using Amount = uint64_t (*)(const TaskUsage& task);

uint64_t rss(const TaskUsage& task) {
  return task.rss_kib();
}
uint64_t virtual_size(const TaskUsage& task) {
  return task.virtual_kib();
}
uint64_t pages(const TaskUsage& task) {
  return task.major_faults();
}
uint64_t cpu(const TaskUsage& task) {
  return (task.user_microseconds() + task.system_microseconds()) / 1000000;
}
uint64_t read_bytes(const TaskUsage& task) {
  return task.read_bytes();
}
uint64_t written_bytes(const TaskUsage& task) {
  return task.write_bytes();
}

template <Amount amount>
const TaskUsage* largest(const StepUsage& step) {
  const auto at = std::max_element(step.tasks().begin(), step.tasks().end(),
                                   [](const auto& a, const auto& b) { return amount(a) < amount(b); });
  return at == step.tasks().end() ? nullptr : &*at;
}
template <Amount amount>
const TaskUsage* least(const StepUsage& step) {
  const auto at = std::min_element(step.tasks().begin(), step.tasks().end(),
                                   [](const auto& a, const auto& b) { return amount(a) < amount(b); });
  return at == step.tasks().end() ? nullptr : &*at;
}
template <Amount amount>
uint64_t total(const StepUsage& step) {
  uint64_t sum = 0;
  for (const TaskUsage& task : step.tasks()) sum += amount(task);
  return sum;
}
template <Amount amount>
uint64_t average(const StepUsage& step) {
  return step.tasks().empty() ? 0 : total<amount>(step) / static_cast<uint64_t>(step.tasks_size());
}
template <Amount amount>
uint64_t most(const StepUsage& step) {
  const TaskUsage* task = largest<amount>(step);
  return task == nullptr ? 0 : amount(*task);
}
template <Amount amount>
uint64_t fewest(const StepUsage& step) {
  const TaskUsage* task = least<amount>(step);
  return task == nullptr ? 0 : amount(*task);
}

using OfStep = uint64_t (*)(const StepUsage& step);
using TaskOfStep = const TaskUsage* (*)(const StepUsage& step);

template <OfStep amount>
void memory(const StepUsage& step, const Context& context, std::string& out) {
  append_kibibytes(out, amount(step), context);
}
template <OfStep amount>
void disk(const StepUsage& step, const Context& context, std::string& out) {
  append_bytes(out, amount(step), context);
}
template <OfStep amount>
void number(const StepUsage& step, const Context&, std::string& out) {
  append_number(out, static_cast<int64_t>(amount(step)));
}
template <OfStep amount>
void clock(const StepUsage& step, const Context&, std::string& out) {
  append_clock(out, static_cast<int64_t>(amount(step)));
}
template <TaskOfStep task>
void node_of(const StepUsage& step, const Context&, std::string& out) {
  if (const TaskUsage* found = task(step)) out += found->node();
}
template <TaskOfStep task>
void rank_of(const StepUsage& step, const Context&, std::string& out) {
  if (const TaskUsage* found = task(step)) append_number(out, found->rank());
}

void job_id(const StepUsage& step, const Context&, std::string& out) {
  append_step_id(out, step.step(), false);
}
void nodes(const StepUsage& step, const Context&, std::string& out) {
  out += step.step().node_list();
}
void tasks(const StepUsage& step, const Context&, std::string& out) {
  append_number(out, step.step().num_tasks());
}
void pids(const StepUsage& step, const Context&, std::string& out) {
  const char* separator = "";
  for (const TaskUsage& task : step.tasks())
    for (uint32_t pid : task.pids()) {
      fmt::format_to(std::back_inserter(out), "{}{}", separator, pid);
      separator = ",";
    }
}
void energy(const StepUsage& step, const Context&, std::string& out) {
  append_joules(out, step.step().usage().energy_joules());
}
void energy_raw(const StepUsage& step, const Context&, std::string& out) {
  append_number(out, static_cast<int64_t>(step.step().usage().energy_joules()));
}
void zero(const StepUsage&, const Context&, std::string& out) {
  out += '0';
}
void frequency(const StepUsage& step, const Context&, std::string& out) {
  out += step.step().kind() == model::STEP_NORMAL ? "Unknown" : "0";
}

template <OfStep cpu_of, OfStep disk_of, OfStep rss_of, OfStep pages_of, OfStep size_of, MeasuredAs gpus>
void usage_in(const StepUsage& step, const Context& context, std::string& out) {
  out += "cpu=";
  append_clock(out, static_cast<int64_t>(cpu_of(step)));
  out += ",fs/disk=";
  append_number(out, static_cast<int64_t>(disk_of(step)));
  append_gpus(out, step.step(), gpus);
  out += ",mem=";
  append_kibibytes(out, rss_of(step), context);
  out += ",pages=";
  append_number(out, static_cast<int64_t>(pages_of(step)));
  out += ",vmem=";
  append_kibibytes(out, size_of(step), context);
}
template <OfStep disk_of>
void usage_out(const StepUsage& step, const Context&, std::string& out) {
  out += "fs/disk=";
  append_number(out, static_cast<int64_t>(disk_of(step)));
}
// cpu=n1,fs/disk=n1,… or the ranks.
template <bool of_largest, bool node>
void usage_in_place(const StepUsage& step, const Context& context, std::string& out) {
  const auto place = [&]<Amount amount>(const char* name) {
    out += name;
    constexpr TaskOfStep kTask = of_largest ? largest<amount> : least<amount>;
    node ? node_of<kTask>(step, context, out) : rank_of<kTask>(step, context, out);
  };
  place.template operator()<cpu>("cpu=");
  place.template operator()<read_bytes>(",fs/disk=");
  place.template operator()<rss>(",mem=");
  place.template operator()<pages>(",pages=");
  place.template operator()<virtual_size>(",vmem=");
}
template <bool of_largest, bool node>
void usage_out_place(const StepUsage& step, const Context& context, std::string& out) {
  out += "fs/disk=";
  constexpr TaskOfStep kTask = of_largest ? largest<written_bytes> : least<written_bytes>;
  node ? node_of<kTask>(step, context, out) : rank_of<kTask>(step, context, out);
}

constexpr PrintFit kPlus = PrintFit::kPlus;

void allocated(const StepUsage& step, const Context& context, std::string& out) {
  append_tres(out, tres_of(step.step()), text::TresOrder::kByName, context);
}

void sluid(const StepUsage& step, const Context&, std::string& out) {
  out += text::format_sluid({step.job_submit_time(), step.step().job_id()});
}

constexpr StepUsageField kFields[] = {
    {"AllocTRES", 10, kPlus, allocated},
    {"AveCPU", 10, kPlus, clock<average<cpu>>},
    {"AveCPUFreq", 10, kPlus, zero},
    {"AveDiskRead", 12, kPlus, disk<average<read_bytes>>},
    {"AveDiskWrite", 12, kPlus, disk<average<written_bytes>>},
    {"AvePages", 10, kPlus, number<average<pages>>},
    {"AveRSS", 10, kPlus, memory<average<rss>>},
    {"AveVMSize", 10, kPlus, memory<average<virtual_size>>},
    {"ConsumedEnergy", 14, kPlus, energy},
    {"ConsumedEnergyRaw", 17, kPlus, energy_raw},
    {"JobID", -12, kPlus, job_id},
    {"MaxDiskRead", 12, kPlus, disk<most<read_bytes>>},
    {"MaxDiskReadNode", 15, kPlus, node_of<largest<read_bytes>>},
    {"MaxDiskReadTask", 15, kPlus, rank_of<largest<read_bytes>>},
    {"MaxDiskWrite", 12, kPlus, disk<most<written_bytes>>},
    {"MaxDiskWriteNode", 16, kPlus, node_of<largest<written_bytes>>},
    {"MaxDiskWriteTask", 16, kPlus, rank_of<largest<written_bytes>>},
    {"MaxPages", 8, kPlus, number<most<pages>>},
    {"MaxPagesNode", 12, kPlus, node_of<largest<pages>>},
    {"MaxPagesTask", 14, kPlus, rank_of<largest<pages>>},
    {"MaxRSS", 10, kPlus, memory<most<rss>>},
    {"MaxRSSNode", 10, kPlus, node_of<largest<rss>>},
    {"MaxRSSTask", 10, kPlus, rank_of<largest<rss>>},
    {"MaxVMSize", 10, kPlus, memory<most<virtual_size>>},
    {"MaxVMSizeNode", 14, kPlus, node_of<largest<virtual_size>>},
    {"MaxVMSizeTask", 14, kPlus, rank_of<largest<virtual_size>>},
    {"MinCPU", 10, kPlus, clock<fewest<cpu>>},
    {"MinCPUNode", 10, kPlus, node_of<least<cpu>>},
    {"MinCPUTask", 10, kPlus, rank_of<least<cpu>>},
    {"Nodelist", 20, kPlus, nodes},
    {"NTasks", 8, kPlus, tasks},
    {"Pids", 20, kPlus, pids},
    {"ReqCPUFreq", 13, kPlus, frequency},
    {"ReqCPUFreqMin", 13, kPlus, frequency},
    {"ReqCPUFreqMax", 13, kPlus, frequency},
    {"ReqCPUFreqGov", 13, kPlus, frequency},
    {"SLUID", 14, kPlus, sluid},
    {"TRESUsageInAve", 14, kPlus,
     usage_in<average<cpu>, average<read_bytes>, average<rss>, average<pages>, average<virtual_size>,
              MeasuredAs::kMean>},
    {"TRESUsageInMax", 14, kPlus,
     usage_in<most<cpu>, most<read_bytes>, most<rss>, most<pages>, most<virtual_size>, MeasuredAs::kMost>},
    {"TRESUsageInMaxNode", 18, kPlus, usage_in_place<true, true>},
    {"TRESUsageInMaxTask", 18, kPlus, usage_in_place<true, false>},
    {"TRESUsageInMin", 14, kPlus,
     usage_in<fewest<cpu>, fewest<read_bytes>, fewest<rss>, fewest<pages>, fewest<virtual_size>,
              MeasuredAs::kNot>},
    {"TRESUsageInMinNode", 18, kPlus, usage_in_place<false, true>},
    {"TRESUsageInMinTask", 18, kPlus, usage_in_place<false, false>},
    {"TRESUsageInTot", 14, kPlus,
     usage_in<total<cpu>, total<read_bytes>, total<rss>, total<pages>, total<virtual_size>,
              MeasuredAs::kTotal>},
    {"TRESUsageOutAve", 15, kPlus, usage_out<average<written_bytes>>},
    {"TRESUsageOutMax", 15, kPlus, usage_out<most<written_bytes>>},
    {"TRESUsageOutMaxNode", 19, kPlus, usage_out_place<true, true>},
    {"TRESUsageOutMaxTask", 19, kPlus, usage_out_place<true, false>},
    {"TRESUsageOutMin", 15, kPlus, usage_out<fewest<written_bytes>>},
    {"TRESUsageOutMinNode", 19, kPlus, usage_out_place<false, true>},
    {"TRESUsageOutMinTask", 19, kPlus, usage_out_place<false, false>},
    {"TRESUsageOutTot", 15, kPlus, usage_out<total<written_bytes>>},
};

}  // namespace

std::span<const StepUsageField> step_usage_fields() {
  return kFields;
}

std::string step_usage_help_format() {
  std::vector<std::string_view> names;
  for (const StepUsageField& field : kFields) names.push_back(field.name);
  return print_help_format(names, 19);
}

}  // namespace minke::view
