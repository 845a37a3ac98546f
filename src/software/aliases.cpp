#include "software/aliases.h"

#include <algorithm>

#include "text/number.h"

namespace minke::software {

bool is_module_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name[0] != '-' && name[0] != '/' && name.back() != '/' &&
         name.find("..") == std::string_view::npos && std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view("._-+/").find(c) != std::string_view::npos;
         });
}

Result<Aliases> parse_aliases(std::string_view text) {
  Aliases aliases;
  size_t number = 0;
  for (std::string_view line : text::split(text, '\n')) {
    ++number;
    line = text::trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    const std::string name(text::trim(line.substr(0, equals)));
    bool good = equals != std::string_view::npos && is_module_name(name);
    Alias alias;
    if (good) {
      for (const std::string_view word : text::split(text::trim(line.substr(equals + 1)), ' ')) {
        if (word.empty()) continue;
        good &= is_module_name(word);
        alias.targets.emplace_back(word);
      }
    }
    if (!good) return failure("line " + std::to_string(number) + " is no NAME = TARGET");
    aliases[name] = std::move(alias);
  }
  return aliases;
}

std::string format_aliases(const Aliases& aliases) {
  std::string out;
  for (const auto& [name, alias] : aliases) {
    out += name + " =";
    for (const std::string& target : alias.targets) out += " " + target;
    out += "\n";
  }
  return out;
}

const Aliases& well_known_aliases() {
  static const std::string system = "the system's own libraries are used",
                           wheel = "Python's wheels bring their own";
  static const Aliases aliases = {
      {"CCconfig", {{}, "it sets up another cluster's software"}},
      {"gentoo", {{}, "it sets up another cluster's software"}},
      {"nixpkgs", {{}, "it sets up another cluster's software"}},
      {"mii", {{}, "it sets up another cluster's software"}},
      {"gcccore", {{"gcc"}, ""}},
      {"GCCcore", {{"gcc"}, ""}},
      {"intel", {{"gcc"}, "no compilers of Intel's are here"}},
      {"intelmpi", {{"openmpi"}, ""}},
      {"impi", {{"openmpi"}, ""}},
      {"foss", {{"gcc", "openmpi"}, ""}},
      {"gompi", {{"gcc", "openmpi"}, ""}},
      {"clang", {{"llvm"}, ""}},
      {"golang", {{"go"}, ""}},
      {"node", {{"nodejs"}, ""}},
      {"jdk", {{"java"}, ""}},
      {"openjdk", {{"java"}, ""}},
      {"singularity", {{"apptainer"}, "it is called apptainer now"}},
      {"cudacore", {{"cuda"}, ""}},
      {"cudatoolkit", {{"cuda"}, ""}},
      {"cuda", {{}, "no CUDA toolkit is here; Python's wheels bring their own"}},
      {"cudnn", {{}, wheel}},
      {"nccl", {{}, wheel}},
      {"scipy-stack", {{}, "pip install --no-index numpy scipy pandas matplotlib, from the wheelhouse"}},
      {"opencv", {{}, "pip install --no-index opencv-python-headless, from the wheelhouse"}},
      {"arrow", {{}, "pip install --no-index pyarrow, from the wheelhouse"}},
      {"mpi4py", {{}, "pip install --no-index mpi4py, from the wheelhouse"}},
      {"imkl", {{}, system}},
      {"mkl", {{}, system}},
      {"flexiblas", {{}, system}},
      {"blis", {{}, system}},
      {"aocl-blas", {{}, system}},
      {"aocl-lapack", {{}, system}},
      {"ucx", {{}, system}},
      {"ucc", {{}, system}},
      {"libfabric", {{}, system}},
      {"pmix", {{}, system}},
      {"hwloc", {{}, system}},
      {"conda",
       {{},
        "it is not installed; virtualenv and pip do its work, and minke software request conda asks for it"}},
      {"anaconda", {{"conda"}, ""}},
      {"micromamba", {{"conda"}, ""}},
      {"anaconda3", {{"conda"}, ""}},
      {"miniconda", {{"conda"}, ""}},
      {"miniconda3", {{"conda"}, ""}},
      {"miniforge", {{"conda"}, ""}},
      {"mamba", {{"conda"}, ""}},
  };
  return aliases;
}

const Alias* find_alias(const Aliases& aliases, std::string_view module) {
  for (const std::string_view name : {module, module.substr(0, module.find('/'))}) {
    if (const auto found = aliases.find(name); found != aliases.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace minke::software
