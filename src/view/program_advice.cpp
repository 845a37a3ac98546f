#include "view/program_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "text/number.h"

namespace minke::view {
namespace {

// One program of a command, with what the rules ask of it.
struct Program {
  const ScriptCommand& command;
  size_t place;  // of its word
  const HeldByPrograms& held;
  std::vector<Advice>& all;

  bool is_launched() const { return view::is_launched(command, place); }
  double line() const { return static_cast<double>(command.line); }
  bool has(std::string_view option, std::string_view value) const {
    for (size_t at = place + 1; at + 1 < command.words.size(); ++at)
      if (command.words[at] == option && command.words[at + 1] == value) return true;
    return false;
  }
  // Of an option that has one; a variable is none.
  std::optional<uint64_t> number_of(std::string_view option) const {
    for (size_t at = place + 1; at + 1 < command.words.size(); ++at)
      if (command.words[at] == option) return text::parse_unsigned(command.words[at + 1], 1'000'000);
    return std::nullopt;
  }
  void advise(std::string_view rule, Weight weight, const std::string& words,
              std::vector<std::pair<std::string_view, double>> numbers) const {
    numbers.insert(numbers.begin(), {"line", line()});
    all.push_back({rule, weight, "script", fmt::format("Line {}: {}", command.line, words), numbers});
  }
};

void advise_on_gromacs(const Program& program, bool is_mpi) {
  const HeldByPrograms& held = program.held;
  if (is_mpi && !program.is_launched() && held.tasks > 1)
    program.advise("gromacs_no_srun", Weight::kCritical,
                   fmt::format("gmx_mpi without srun runs one task of {}", held.tasks),
                   {{"tasks", held.tasks}});
  if (!is_mpi && (held.nodes > 1 || (program.is_launched() && held.tasks > 1)))
    program.advise("gromacs_binary", Weight::kCritical,
                   fmt::format("gmx is not the MPI program: {} tasks on {} nodes need srun gmx_mpi",
                               held.tasks, held.nodes),
                   {{"tasks", held.tasks}, {"nodes", held.nodes}});
  const auto threads = program.number_of(is_mpi ? "-ntomp" : "-nt");
  const uint32_t cores = is_mpi ? held.cores_per_task : held.cores / std::max(1u, held.nodes);
  if (threads && *threads != 0 && *threads != cores)
    program.advise("gromacs_threads", Weight::kWarning,
                   fmt::format("mdrun is told to use {} threads on {} cores", *threads, cores),
                   {{"threads", static_cast<double>(*threads)}, {"cores", cores}});
}

void advise_on_amber(const Program& program, std::string_view name) {
  const HeldByPrograms& held = program.held;
  const bool is_mpi = name.ends_with(".MPI"), is_cuda = name.find(".cuda") != std::string_view::npos;
  if (is_mpi && !program.is_launched() && held.tasks > 1)
    program.advise("amber_no_srun", Weight::kCritical,
                   fmt::format("{} without srun runs one task of {}", name, held.tasks),
                   {{"tasks", held.tasks}});
  if (!is_cuda && held.gpus > 0) {
    program.advise("amber_gpu", Weight::kCritical,
                   fmt::format("{} does not use the {} GPUs: pmemd.cuda does", name, held.gpus),
                   {{"gpus", static_cast<double>(held.gpus)}});
  } else if (!is_mpi && !is_cuda && held.cores > 1) {
    program.advise(
        "amber_serial", Weight::kCritical,
        fmt::format("{} uses one core of {}: the program for several is {}.MPI", name, held.cores, name),
        {{"cores", held.cores}});
  } else if (is_cuda && !is_mpi && held.gpus > 1) {
    program.advise("amber_one_gpu", Weight::kWarning, fmt::format("{} uses one GPU of {}", name, held.gpus),
                   {{"gpus", static_cast<double>(held.gpus)}});
  }
}

void advise_on_lammps(const Program& program) {
  const HeldByPrograms& held = program.held;
  if (!program.is_launched() && held.tasks > 1)
    program.advise("lammps_no_srun", Weight::kCritical,
                   fmt::format("LAMMPS without srun runs one task of {}", held.tasks),
                   {{"tasks", held.tasks}});
  const bool uses_gpus = program.has("-sf", "gpu") || program.has("-suffix", "gpu") ||
                         program.has("-k", "on") || program.has("-kokkos", "on");
  if (held.gpus > 0 && !uses_gpus)
    program.advise("lammps_gpu", Weight::kWarning,
                   fmt::format("LAMMPS uses the {} GPUs only with -sf gpu, or -k on", held.gpus),
                   {{"gpus", static_cast<double>(held.gpus)}});
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void advise_on_programs(const std::vector<ScriptCommand>& commands, const HeldByPrograms& held,
                        std::vector<Advice>& all) {
  for (const ScriptCommand& command : commands) {
    for (size_t place = 0; place < command.words.size(); ++place) {
      // Other words than the first are programs only behind a launcher.
      if (place > 0 && !is_launched(command, place)) break;
      const std::string_view name = program_name(command.words[place]);
      const Program program{command, place, held, all};
      const bool is_run = place + 1 < command.words.size() && command.words[place + 1] == "mdrun";
      if (is_run && is_one_of(name, {"gmx", "gmx_d"}))
        advise_on_gromacs(program, false);
      else if (is_run && is_one_of(name, {"gmx_mpi", "gmx_mpi_d"}))
        advise_on_gromacs(program, true);
      else if (is_one_of(name,
                         {"pmemd", "pmemd.MPI", "pmemd.cuda", "pmemd.cuda.MPI", "sander", "sander.MPI"}))
        advise_on_amber(program, name);
      else if (name == "lmp" || name.starts_with("lmp_") || name == "lammps")
        advise_on_lammps(program);
      else
        continue;
      break;
    }
  }
}

}  // namespace minke::view
