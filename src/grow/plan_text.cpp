// A plan for a person to read before anything is done.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "grow/growing.h"
#include "text/memory.h"

namespace minke::grow {
namespace {

std::string gpus_of(const Machine& machine) {
  std::map<std::string, int> counts;
  for (const Gpu& gpu : machine.gpus) {
    if (gpu.partitioned && gpu.instances.empty()) ++counts[gpu.type + " in MIG mode without instances"];
    for (const std::string& type : gpu.offered()) ++counts[type];
  }
  std::string out;
  for (const auto& [type, count] : counts)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, type);
  return out.empty() ? "none" : out;
}

std::string packages_of_machine(const Machine& machine) {
  std::string there, missing;
  for (const std::string& name : packages_of(machine.is_head())) {
    const auto found = machine.packages.find(name);
    const bool installed = found != machine.packages.end() && !found->second.installed.empty();
    std::string& to = installed ? there : missing;
    to += (to.empty() ? "" : " ") + name;
  }
  return fmt::format("    installed      {}\n    to be installed {}\n", there.empty() ? "nothing" : there,
                     missing.empty() ? "nothing" : missing);
}

void append_machine(std::string& out, const Machine& machine) {
  out +=
      fmt::format("  {} ({})\n", machine.name, machine.is_head() ? "the head, this machine" : machine.host);
  out += fmt::format("    system         {}, {} {}, {}\n", machine.system, machine.kernel,
                     machine.architecture, machine.services);
  out += fmt::format("    processors     {} in {} cores of {} sockets\n", machine.cpus, machine.cores,
                     machine.sockets);
  out += fmt::format("    memory         {}\n", text::format_mib(machine.memory_mib, text::Scaling::kAny));
  out += fmt::format("    GPUs           {}\n", gpus_of(machine));
  for (const Disk& disk : machine.disks)
    out += fmt::format("    disk           {} {} {}, {} free{}\n", disk.mount, disk.type,
                       text::format_mib(disk.mib, text::Scaling::kAny),
                       text::format_mib(disk.free_mib, text::Scaling::kAny), disk.shared() ? ", shared" : "");
  out += fmt::format("    network        {}{}\n", machine.address.empty() ? "" : machine.address + " of ",
                     fmt::join(machine.addresses, " "));
  if (!machine.network_switch.empty()) out += fmt::format("    switch         {}\n", machine.network_switch);
  out += fmt::format("    clock          {} ms from the head's\n", machine.clock_ahead);
  out +=
      fmt::format("    control groups {}\n",
                  machine.control_groups == 0 ? "none" : "version " + std::to_string(machine.control_groups));
  out += fmt::format("    Slurm          {}\n", slurm_version(machine).text());
  out += packages_of_machine(machine);
}

void append_file(std::string& out, const File& file) {
  out += fmt::format("--- {} ({}, {}; {}): {}\n", file.path, file.mode, file.owner,
                     file.head_only ? "the head" : "all machines", file.why);
  std::string content = file.content;
  if (file.secret) {
    constexpr std::string_view kPassword = "StoragePass=";
    if (const size_t at = content.find(kPassword); at != std::string::npos) {
      const size_t begin = at + kPassword.size();
      content.replace(begin, content.find('\n', begin) - begin, "(made by apply)");
    }
  }
  out += content + "\n";
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string out = "MACHINES\n";
  for (const Machine& machine : plan.grown.machines) append_machine(out, machine);
  out += "\nFILES\n";
  for (const File& file : plan.files) append_file(out, file);
  out += "STEPS\n";
  size_t number = 0;
  for (const Step& step : plan.steps)
    out += fmt::format("  {:2}. {}\n      {}\n      why: {}; checked: {}; undone: {}\n", ++number, step.id,
                       step.what, step.why, step.checked, step.undone);
  out += "\nNOT AS BEFORE\n";
  for (const std::string& note : plan.notes) out += "  - " + note + "\n";
  if (plan.notes.empty()) out += "  nothing\n";
  if (plan.problems.empty()) return out + "\nNothing has been changed. minke grow apply does this.\n";
  out += "\nIT CANNOT BE DONE YET\n";
  for (const Problem& problem : plan.problems) out += fmt::format("  - {}: {}\n", problem.host, problem.what);
  return out;
}

}  // namespace minke::grow
