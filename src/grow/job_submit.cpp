// job_submit.lua: what `serves` of Minke's partitions does (docs/configuration.md, "Time classes"), in the
// language that slurmctld asks for each job.
#include <fmt/format.h>

#include <algorithm>

#include "grow/slurm_files.h"

namespace minke::grow {
namespace {

constexpr char kChoice[] = R"lua(
local unset = 4294967294

local function asks_for_gpus(job)
  for _, field in ipairs({"tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task", "gres"}) do
    local text = job[field]
    if text ~= nil and string.find(text, "gpu") then return true end
  end
  return false
end

local function takes_whole(job, class)
  if job.shared == 0 then return true end
  local nodes, cpus = job.min_nodes, job.min_cpus
  if nodes == nil or nodes == 0 or nodes >= unset then nodes = 1 end
  if cpus == nil or cpus >= unset then return false end
  return class.cpus > 0 and cpus >= class.cpus * nodes
end

local function best(job, fits)
  local names, shortest = nil, nil
  for _, class in ipairs(classes) do
    local long_enough = job.time_limit == nil or job.time_limit >= unset or job.time_limit <= class.limit
    if long_enough and fits(class) then
      if shortest == nil or class.limit < shortest then
        names, shortest = class.name, class.limit
      elseif class.limit == shortest then
        names = names .. "," .. class.name
      end
    end
  end
  return names
end

function slurm_job_submit(job, partitions, uid)
  if job.partition ~= nil and job.partition ~= "default" then return slurm.SUCCESS end
  local kind = asks_for_gpus(job) and "gpu" or "cpu"
  local names = nil
  if job.script == nil or job.script == "" then
    names = best(job, function(class) return class.interactive and (kind == "cpu" or class.gpus) end)
  end
  if names == nil then
    names = best(job, function(class)
      return class[kind] or (class.whole and (kind == "gpu") == class.gpus and takes_whole(job, class))
    end)
  end
  if names ~= nil then job.partition = names end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
)lua";

}  // namespace

std::string job_submit_lua(const config::Configuration& config, const Grown& grown) {
  const auto serves = [&](const std::string& partition, std::string_view kind) {
    const auto found = config.serves.find(partition);
    return found != config.serves.end() &&
           std::find(found->second.begin(), found->second.end(), kind) != found->second.end();
  };
  uint32_t fewest = 0;
  bool gpus = false;
  for (const Machine& machine : grown.machines) {
    if (machine.is_head() && !grown.head_computes) continue;
    fewest = fewest == 0 ? machine.cpus : std::min(fewest, machine.cpus);
    gpus |= !machine.gpus.empty();
  }
  std::string rows;
  for (const model::PartitionRecord& partition : grown.partitions) {
    const auto found = config.serves.find(partition.name());
    if (found == config.serves.end() || found->second.empty()) continue;
    const auto yes = [&](std::string_view kind) { return serves(partition.name(), kind); };
    rows += fmt::format(
        "  {{name = \"{}\", limit = {}, cpus = {}, gpus = {}, cpu = {}, gpu = {}, whole = {}, "
        "interactive = {}}},\n",
        partition.name(), partition.max_time_minutes(), fewest, gpus && yes("gpu"), yes("cpu"), yes("gpu"),
        yes("whole"), yes("interactive"));
  }
  if (rows.empty()) return {};
  return std::string(
             "-- By minke grow: time classes, as minke.toml had them (serves).\nlocal classes = {\n") +
         rows + "}\n" + kChoice;
}

}  // namespace minke::grow
