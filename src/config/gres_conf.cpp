#include "config/gres_conf.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "model/cluster.pb.h"
#include "model/no_consume.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/slurm_conf.h"
#include "text/tres.h"
#include "text/word.h"

namespace minke::config {
namespace {

constexpr int kMaxIncludes = 8;  // one within another
constexpr std::string_view kNamesOfDevices[] = {"Cores", "CPUs", "Links", "UniqueId"};
constexpr std::string_view kDetectors[] = {"full", "nrt", "nvidia", "nvml", "off", "oneapi", "rsmi"};
constexpr std::string_view kFlags[] = {"CountOnly", "explicit", "one_sharing"};
constexpr std::string_view kUnusedFlags[] = {"all_sharing",    "amd_gpu_env", "intel_gpu_env",
                                             "nvidia_gpu_env", "no_gpu_env",  "opencl_env"};

template <size_t kCount>
bool is_of(std::string_view name, const std::string_view (&known)[kCount]) {
  return std::any_of(std::begin(known), std::end(known),
                     [&](std::string_view one) { return text::is(name, one); });
}

// One line: of these nodes (all where it names none), so many devices of a name.
struct Line {
  std::string where;  // "FILE:LINE: "
  std::vector<std::string> nodes;
  std::string name, type;
  size_t files = 0;
  bool is_explicit = false;
};

class Reader {
 public:
  Reader(const ReadFile& read, const std::set<std::string>& types, Configuration& config)
      : read_(read), types_(types), config_(config) {}

  Status file(const SlurmConfFile& given, int depth) {
    auto lines = text::parse_slurm_conf(given.text);
    if (!lines) return failure(given.path + ":" + lines.error().message);
    for (const text::SlurmConfLine& one : *lines) {
      const auto& [name, value] = one.words.front();
      if (text::is(name, "Include")) {
        const std::string here = given.path + ":" + std::to_string(one.number) + ": ";
        if (depth >= kMaxIncludes) return failure(here + "files that include one another");
        const std::string path =
            value.starts_with('/') ? value : given.path.substr(0, given.path.rfind('/') + 1) + value;
        auto text = read_(path);
        if (!text) return failure(here + text.error().message);
        if (const Status read = file({.path = path, .text = std::move(*text)}, depth + 1); !read) return read;
        continue;
      }
      Line line;
      line.where = given.path + ":" + std::to_string(one.number) + ": ";
      for (const auto& [key, word] : one.words)
        if (const Status set = set_word(key, word, line); !set)
          return failure(line.where + set.error().message);
      if (!line.name.empty()) lines_.push_back(std::move(line));
    }
    return {};
  }

  Status finish() {
    for (const Line& line : lines_) apply(line);
    if (detects_) return {};
    for (const model::NodeRecord& node : config_.nodes)
      if (const Status enough = has_files_for(node); !enough) return enough;
    return {};
  }

 private:
  void note_unused(const Line& line, const std::string& what) { config_.unused.push_back(line.where + what); }

  Status set_word(const std::string& key, const std::string& value, Line& line) {
    if (text::is(key, "NodeName")) {
      auto names = text::expand_hostlist(value);
      if (!names) return failure("NodeName=" + value + ": " + names.error().message);
      line.nodes = std::move(*names);
    } else if (text::is(key, "Name")) {
      if (value.empty()) return failure("Name= needs a name");
      line.name = value;
    } else if (text::is(key, "Type")) {
      line.type = value;
    } else if (text::is(key, "File")) {
      const auto files = text::expand_hostlist(value);
      if (!files) return failure("File=" + value + ": " + files.error().message);
      line.files += files->size();
    } else if (text::is(key, "MultipleFiles")) {
      ++line.files;
    } else if (text::is(key, "Count")) {
      const auto counted = text::parse_gres_list("x:" + value);
      if (!counted || (!counted->empty() && !counted->front().type().empty()))
        return failure("Count=" + value + ": must be a number, as 4 or 10k");
    } else if (text::is(key, "Flags")) {
      return set_flags(value, line);
    } else if (text::is(key, "AutoDetect")) {
      if (!is_of(value, kDetectors))
        return failure("AutoDetect=" + value + ": must be nvidia, nvml, rsmi, oneapi, nrt, full or off");
      detects_ |= !text::is(value, "off");
    } else if (!is_of(key, kNamesOfDevices)) {
      return failure(key +
                     " is not known in gres.conf: it has Name, Type, File, Count, NodeName, Flags, "
                     "AutoDetect, Cores, Links and MultipleFiles");
    }
    return {};
  }

  Status set_flags(const std::string& value, Line& line) {
    for (const std::string_view given : text::split(value, ',')) {
      const std::string flag(text::trim(given));
      if (text::is(flag, "explicit")) line.is_explicit = true;
      if (is_of(flag, kUnusedFlags)) {
        note_unused(line, "Flags=" + flag);
      } else if (!is_of(flag, kFlags)) {
        return failure("Flags=" + flag + ": no flag of gres.conf; explicit is one");
      }
    }
    return {};
  }

  static bool is_of_node(const Line& line, const model::NodeRecord& node) {
    return line.nodes.empty() ||
           std::find(line.nodes.begin(), line.nodes.end(), node.name()) != line.nodes.end();
  }

  // Flags go to the nodes that slurm.conf gives such GRES.
  void apply(const Line& line) {
    if (!types_.contains(line.name) && !types_.empty())
      return note_unused(line, "Name=" + line.name + " (GresTypes has no " + line.name + ")");
    bool any_node = line.nodes.empty(), offered = false;
    for (model::NodeRecord& node : config_.nodes) {
      if (!is_of_node(line, node)) continue;
      any_node = true;
      const bool real = line.name == "gpu" && !node.virtual_gres();
      bool here = real;
      for (const model::Gres& gres : node.gres())
        here |= gres.name() == line.name && (line.type.empty() || model::type_of(gres.type()) == line.type);
      if (!here) continue;
      offered = true;
      if (line.is_explicit) node.add_explicit_gres(line.name);
    }
    if (offered || !any_node) return;  // a line may be about nodes that are elsewhere
    const std::string kind = line.name + (line.type.empty() ? "" : ":" + line.type);
    note_unused(line, "Name=" + line.name + " (no node has Gres=" + kind + ")");
  }

  // Slurm drains a node whose files are fewer than its GPUs.
  Status has_files_for(const model::NodeRecord& node) const {
    if (!node.virtual_gres()) return {};
    for (const model::Gres& gres : node.gres()) {
      if (gres.name() != "gpu") continue;
      size_t files = 0;
      const Line* last = nullptr;
      for (const Line& line : lines_) {
        const bool same_type = gres.type().empty() || line.type.empty() || line.type == gres.type();
        if (line.name != "gpu" || line.files == 0 || !is_of_node(line, node) || !same_type) continue;
        files += line.files;
        last = &line;
      }
      if (last == nullptr || files >= gres.count()) continue;
      const std::string kind = gres.type().empty() ? "gpu" : "gpu:" + gres.type();
      return failure(last->where + "node " + node.name() + " has " + std::to_string(files) + " " + kind +
                     " here, fewer than slurm.conf's Gres=" + kind + ":" + std::to_string(gres.count()) +
                     ": name a File for each, or count " + std::to_string(files) + " there");
    }
    return {};
  }

  const ReadFile& read_;
  const std::set<std::string>& types_;
  Configuration& config_;
  std::vector<Line> lines_;
  bool detects_ = false;
};

}  // namespace

Status apply_gres_conf(const SlurmConfFile& file, const ReadFile& read, const std::set<std::string>& types,
                       Configuration& config) {
  Reader reader(read, types, config);
  if (const Status done = reader.file(file, 0); !done) return done;
  return reader.finish();
}

}  // namespace minke::config
