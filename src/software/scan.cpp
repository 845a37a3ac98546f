#include "software/scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>

#include "os/capture.h"
#include "os/files.h"
#include "software/version.h"
#include "text/number.h"

namespace minke::software {

namespace fs = std::filesystem;

namespace {

constexpr int kSecondsForAnAnswer = 5;

std::string real_path(const std::string& path) {
  char target[PATH_MAX];
  return ::realpath(path.c_str(), target) == nullptr ? std::string() : target;
}

bool is_program(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Whether users without rights of their own can reach it.
bool open_to_all(const std::string& path) {
  for (fs::path part = path;; part = part.parent_path()) {
    struct stat status;
    if (::stat(part.c_str(), &status) != 0 || (status.st_mode & S_IXOTH) == 0) return false;
    if (part == part.root_path()) return true;
  }
}

std::string parent(const std::string& path) {
  return fs::path(path).parent_path().string();
}

// The prefix of a program: /usr of /usr/bin/gcc.
std::string prefix_of(const std::string& program) {
  return parent(parent(program));
}

bool is_system(const std::string& directory) {
  return directory == "/usr/bin" || directory == "/bin" || directory == "/usr/local/bin" ||
         directory == "/usr/sbin" || directory == "/sbin";
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the first group of `pattern` in the program's output.
std::optional<std::string> ask(const std::vector<std::string>& argv, const std::regex& pattern) {
  const auto answer =
      os::run_captured(argv, {.timeout_seconds = kSecondsForAnAnswer,
                              .environment = {"LC_ALL=C", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH"}});
  std::smatch match;
  if (!answer || answer->exit_code != 0 || !std::regex_search(answer->output, match, pattern))
    return std::nullopt;
  return match[1].str();
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// Returns a script that runs a program with these first arguments.
std::string running(const std::vector<std::string>& argv) {
  std::string line = "#!/bin/sh\nexec";
  for (const std::string& word : argv) line += " " + quoted(word);
  return line + " \"$@\"\n";
}

// The same for a program that is told that it was found on PATH.
std::string running_as(const std::string& name, const std::string& program) {
  return "#!/bin/bash\nexec -a " + name + " " + quoted(program) + " \"$@\"\n";
}

Found make(const std::string& program, std::string name, std::string version, std::string description,
           std::string property) {
  Found found;
  found.name = std::move(name);
  found.version = std::move(version);
  found.description = std::move(description);
  found.property = std::move(property);
  found.prefix = prefix_of(program);
  found.program = program;
  return found;
}

// Adds directories below the prefix that exist and are not the system's own.
void add_libraries(Found& found) {
  const auto add = [&](const char* variable, const std::string& directory) {
    if (fs::is_directory(found.prefix + "/" + directory))
      found.paths[variable].push_back(found.prefix + "/" + directory);
  };
  for (const char* library : {"lib64", "lib"}) {
    add("LD_LIBRARY_PATH", library);
    add("LIBRARY_PATH", library);
    add("PKG_CONFIG_PATH", std::string(library) + "/pkgconfig");
  }
  add("CPATH", "include");
  add("MANPATH", "share/man");
}

class Scanner {
 public:
  explicit Scanner(const ScanOptions& options) : options_(options) {}

  std::vector<Found> run() {
    for (const std::string& directory : options_.directories) {
      for (const std::string& name : names_in(directory)) look_at(directory, name);
      if (options_.done != nullptr) ++*options_.done;
    }
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      if (a.name != b.name) return a.name < b.name;
      return compare_versions(a.version, b.version) < 0;
    });
    return std::move(found_);
  }

 private:
  void look_at(const std::string& directory, const std::string& name) {
    static const std::regex python("python[23](\\.[0-9]+)?"), gcc("gcc(-[0-9.]+)?"),
        clang("clang(-[0-9.]+)?");
    const std::string path = directory + "/" + name;
    if (std::regex_match(name, python)) return add_python(directory, path);
    if (std::regex_match(name, gcc)) return add_compiler(directory, path, name.substr(3), "gcc");
    if (std::regex_match(name, clang)) return add_compiler(directory, path, name.substr(5), "llvm");
    if (name == "nvcc") return add_cuda(path);
    if (name == "mpirun" || name == "mpirun.openmpi" || name == "mpirun.mpich")
      return add_mpi(directory, path, name.substr(6));
    for (const Plain& plain : kPlain) {
      if (name == plain.program) return add_plain(directory, path, plain);
    }
  }

  // Whether to ask the program: its users can run it, and it is not another name of one that was asked.
  bool worthwhile(const std::string& path) {
    const std::string real = real_path(path);
    if (real.empty() || !is_program(real)) return false;
    if (options_.for_everybody && (!open_to_all(parent(path)) || !open_to_all(real))) return false;
    return asked_.insert(real).second;
  }

  void keep(Found found) {
    for (const Found& other : found_) {
      if (other.name == found.name && other.version == found.version) return;
    }
    found_.push_back(std::move(found));
  }

  void add_python(const std::string& directory, const std::string& path) {
    static const std::regex version("Python ([0-9]+\\.[0-9]+\\.[0-9][0-9a-z]*)");
    if (!worthwhile(path)) return;
    const auto number = ask({path, "--version"}, version);
    if (!number) return;
    Found found = make(path, "python", *number, "Python, with pip and virtualenv", "tools");
    const auto parts = text::split(*number, '.');
    const std::string major(parts[0]), minor = major + "." + std::string(parts[1]);
    // No symbolic links: a virtual environment would remember them as its Python.
    const auto offer = [&](const std::string& name, const std::vector<std::string>& argv) {
      if (is_system(directory) || !is_program(directory + "/" + name)) found.links[name] = running(argv);
    };
    for (const char* behind : {"", major.c_str(), minor.c_str()}) {
      offer(std::string("python") + behind, {path});
      offer(std::string("pip") + behind, {path, "-m", "pip"});
    }
    if (!is_system(directory)) found.paths["PATH"].push_back(directory);  // ipython, jupyter …
    keep(std::move(found));
  }

  void add_compiler(const std::string& directory, const std::string& path, const std::string& suffix,
                    const std::string& name) {
    static const std::regex gcc("^([0-9]+\\.[0-9]+(\\.[0-9]+)?)"),
        clang("clang version ([0-9]+\\.[0-9]+(\\.[0-9]+)?)");
    if (!worthwhile(path)) return;
    const bool is_gcc = name == "gcc";
    const auto number = is_gcc ? ask({path, "-dumpfullversion"}, gcc) : ask({path, "--version"}, clang);
    if (!number) return;
    Found found = is_gcc ? make(path, name, *number, "GNU compilers for C, C++ and Fortran", "tools")
                         : make(path, name, *number, "Clang and LLVM", "tools");
    found.family = "compiler";
    const std::vector<std::string> names =
        is_gcc ? std::vector<std::string>{"gcc",    "g++",    "gfortran",   "cpp",
                                          "gcc-ar", "gcc-nm", "gcc-ranlib", "gcov"}
               : std::vector<std::string>{"clang", "clang++", "clang-cpp",   "lld",          "ld.lld",
                                          "lldb",  "llvm-ar", "llvm-config", "llvm-profdata"};
    for (const std::string& one : names) {
      if (is_program(directory + "/" + one + suffix)) found.links[one] = directory + "/" + one + suffix;
    }
    if (is_gcc) {
      found.links["cc"] = path;
      if (found.links.contains("g++")) found.links["c++"] = found.links["g++"];
    }
    if (!is_system(directory)) add_libraries(found);
    keep(std::move(found));
  }

  void add_cuda(const std::string& path) {
    static const std::regex version("release [0-9]+\\.[0-9]+, V([0-9]+\\.[0-9]+\\.[0-9]+)");
    if (!worthwhile(path)) return;
    const auto number = ask({path, "--version"}, version);
    if (!number) return;
    Found found = make(path, "cuda", *number, "NVIDIA CUDA toolkit", "tools");
    if (!is_system(parent(path))) found.prefix = prefix_of(real_path(path));
    found.variables["CUDA_HOME"] = found.variables["CUDA_PATH"] = found.prefix;
    if (!is_system(parent(path))) {
      found.paths["PATH"].push_back(found.prefix + "/bin");
      add_libraries(found);
    }
    keep(std::move(found));
  }

  void add_mpi(const std::string& directory, const std::string& path, const std::string& suffix) {
    static const std::regex version(
        "(Open MPI\\) |OpenRTE\\) |HYDRA build details:\\s+Version:\\s+)([0-9]+\\.[0-9][0-9.a-z]*)");
    if (!worthwhile(path)) return;
    const auto answer = os::run_captured(
        {path, "--version"}, {.timeout_seconds = kSecondsForAnAnswer, .environment = {"LC_ALL=C"}});
    std::smatch match;
    if (!answer || !std::regex_search(answer->output, match, version)) return;
    const bool open = match[1].str().starts_with("Open");
    Found found = make(path, open ? "openmpi" : "mpich", match[2].str(), open ? "Open MPI" : "MPICH", "mpi");
    found.family = "mpi";
    // Debian keeps several beside each other; each name ends in the library's.
    const std::string behind = !suffix.empty() ? suffix : open ? ".openmpi" : ".mpich";
    for (const char* name :
         {"mpirun", "mpiexec", "mpicc", "mpicxx", "mpic++", "mpiCC", "mpif77", "mpif90", "mpifort"}) {
      for (const std::string& program : {directory + "/" + name + behind, directory + "/" + name}) {
        if (!is_program(program) || (program.ends_with(name) && is_system(directory))) continue;
        // Compilers find their settings by the name that they are called by. Open MPI's launcher, where it is
        // called by its path, looks for srun beside itself before it looks on PATH.
        const bool launcher =
            open && (std::string_view(name) == "mpirun" || std::string_view(name) == "mpiexec");
        found.links[name] = launcher ? running_as(name, program) : running({program});
        break;
      }
    }
    if (found.links.empty()) found.links["mpirun"] = open ? running_as("mpirun", path) : running({path});
    if (!is_system(directory)) {
      found.paths["PATH"].push_back(directory);
      add_libraries(found);
    }
    keep(std::move(found));
  }

  // Programs about which one question tells everything.
  struct Plain {
    const char *program, *module, *question, *pattern, *description, *property;
  };
  static constexpr Plain kPlain[] = {
      {"apptainer", "apptainer", "--version", "apptainer version ([0-9.]+)", "Containers", "tools"},
      {"cmake", "cmake", "--version", "cmake version ([0-9.]+)", "Builds software", "tools"},
      {"conda", "conda", "--version", "conda ([0-9.]+)", "Package manager of Anaconda and Miniforge",
       "tools"},
      {"ffmpeg", "ffmpeg", "-version", "ffmpeg version n?([0-9.]+)", "Audio and video", "vis"},
      {"go", "go", "version", "go([0-9]+\\.[0-9.]+)", "The Go language", "tools"},
      {"java", "java", "-version", "version \"([0-9.]+)", "Java", "tools"},
      {"julia", "julia", "--version", "julia version ([0-9.]+)", "The Julia language", "tools"},
      {"node", "nodejs", "--version", "v([0-9.]+)", "JavaScript outside browsers", "tools"},
      {"octave", "octave", "--version", "version ([0-9.]+)", "Numerical computations, as MATLAB has them",
       "math"},
      {"parallel", "parallel", "--version", "GNU parallel ([0-9]+)", "Runs commands in parallel", "tools"},
      {"R", "r", "--version", "R version ([0-9.]+)", "Statistical computing", "math"},
      {"rustc", "rust", "--version", "rustc ([0-9.]+)", "The Rust language", "tools"},
  };

  void add_plain(const std::string& directory, const std::string& path, const Plain& plain) {
    if (!worthwhile(path)) return;
    const auto number = ask({path, plain.question}, std::regex(plain.pattern));
    if (!number) return;
    Found found = make(path, plain.module, *number, plain.description, plain.property);
    if (!is_system(directory)) {
      found.paths["PATH"].push_back(directory);
    } else {
      found.links[plain.program] = path;
    }
    keep(std::move(found));
  }

  const ScanOptions& options_;
  std::set<std::string> asked_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<std::string> program_directories(const std::string& home, const std::vector<std::string>& more) {
  std::vector<std::string> directories;
  std::set<std::string> known;
  const auto add = [&](const std::string& directory) {
    if (directory.empty() || directory[0] != '/' || directory.starts_with(home + "/")) return;
    if (directory.ends_with("/shims")) return;  // pyenv's: they lead to programs that are found anyway
    const std::string real = real_path(directory);
    if (!real.empty() && known.insert(real).second) directories.push_back(directory);
  };
  const auto add_all_in = [&](const std::string& parent_directory, const std::string& prefix) {
    for (const std::string& name : names_in(parent_directory)) {
      if (name.starts_with(prefix)) add(parent_directory + "/" + name + "/bin");
    }
  };
  for (const std::string& directory : more) {
    add(directory);
    add(directory + "/bin");
  }
  for (const char* directory : {"/usr/bin", "/usr/local/bin"}) add(directory);
  add_all_in("/usr/local", "cuda");
  add_all_in("/opt", "");
  if (const char* user = std::getenv("HOME")) {
    add_all_in(std::string(user) + "/.pyenv/versions", "");
    for (const char* name : {"miniforge3", "mambaforge", "miniconda3", "anaconda3"})
      add(std::string(user) + "/" + name + "/bin");
  }
  if (const char* path = std::getenv("PATH")) {
    for (const std::string_view directory : text::split(path, ':')) add(std::string(directory));
  }
  return directories;
}

std::vector<Found> scan(const ScanOptions& options) {
  return Scanner(options).run();
}

}  // namespace minke::software
