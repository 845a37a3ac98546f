#include "cli/estimate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/result.h"
#include "ml/cluster_profile.h"
#include "ml/memory.h"
#include "ml/model_shape.h"
#include "ml/published.h"
#include "ml/safetensors.h"
#include "os/fd.h"
#include "os/files.h"
#include "text/duration.h"
#include "view/output.h"

namespace minke::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr size_t kMaxConfigBytes = size_t{4} << 20;

// Reads the header alone: the weights may be hundreds of gigabytes.
Result<ml::StoredWeights> read_weights(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failure_from_errno(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure_from_errno(path, errno);
  char start[8];
  const ssize_t got = ::pread(file.get(), start, sizeof start, 0);
  const auto length = ml::safetensors_header_length({start, static_cast<size_t>(std::max<ssize_t>(got, 0))});
  if (!length) return failure(path + ": " + length.error().message);
  if (*length > static_cast<uint64_t>(status.st_size))
    return failure(path + ": it is cut off within its header");
  std::string header(*length, '\0');
  if (::pread(file.get(), header.data(), header.size(), sizeof start) != static_cast<ssize_t>(header.size()))
    return failure(path + ": it is cut off within its header");
  auto weights = ml::read_safetensors_header(header, static_cast<uint64_t>(status.st_size));
  if (!weights) return failure(path + ": " + weights.error().message);
  return weights;
}

struct Model {
  ml::ModelShape shape;
  std::string source;  // where its size is from
};

Result<Model> read_directory(const std::string& directory) {
  const auto text = os::read_file(directory + "/config.json", kMaxConfigBytes);
  if (!text) return failure(text.error());
  auto shape = ml::read_model_config(*text);
  if (!shape) return failure(directory + ": " + shape.error().message);
  Model model{*shape, "config.json"};
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  ml::StoredWeights all;
  for (const std::string& file : files) {
    const auto weights = read_weights(file);
    if (!weights) return failure(weights.error());
    all.parameters += weights->parameters;
    all.bytes += weights->bytes;
    all.tensors += weights->tensors;
    all.packed |= weights->packed;
  }
  const uint64_t counted = ml::count_parameters(model.shape);
  model.shape.stored_bytes = all.bytes;
  if (all.parameters > 0 && !all.packed) {
    model.shape.parameters = all.parameters;
    model.source = fmt::format("{} tensors in {} safetensors file{}", all.tensors, files.size(),
                               files.size() == 1 ? "" : "s");
  } else if (counted > 0) {
    model.shape.parameters = counted;
    model.source = all.packed ? "config.json; the stored weights are quantised" : "config.json";
  } else {
    return failure(
        directory +
        ": there are no safetensors files, and config.json is not of Llama's layout: the number of "
        "parameters is not known");
  }
  if (model.shape.name.empty())
    model.shape.name = std::filesystem::path(directory).lexically_normal().filename().string();
  if (model.shape.name.empty()) model.shape.name = directory;
  return model;
}

Result<Model> find_model(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) return read_directory(name);
  if (const auto known = ml::well_known_model(name)) return Model{*known, "known by name"};
  return failure("there is no directory " + name +
                 ", and the name is not known: 8B, 70B and 405B (Llama 3.1) and gemma-3-1b are. A model's "
                 "directory needs its config.json and, for the exact size, its *.safetensors");
}

std::string with_commas(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string gib(double bytes) {
  return fmt::format("{:.2f}", bytes / kGib);
}

int published(bool json) {
  Json list = Json::array();
  if (!json)
    fmt::print("{:<10} {:<6} {:<7} {:>10} {:>12}  \n", "table", "model", "column", "published", "computed");
  for (const ml::PublishedCell& cell : ml::published_cells()) {
    const std::string ours = ml::computed(cell);
    if (json) {
      list.push_back({{"table", cell.table},
                      {"model", cell.model},
                      {"column", cell.column},
                      {"published", cell.printed},
                      {"computed", ours},
                      {"same", ours == cell.printed},
                      {"note", cell.note}});
      continue;
    }
    std::string note(cell.note);
    if (cell.agreement == ml::Agreement::kOtherInput) note += ": " + ml::computed_with_own_input(cell);
    fmt::print("{:<10} {:<6} {:<7} {:>10} {:>12}  {}\n", cell.table, cell.model, cell.column, cell.printed,
               ours, note);
  }
  if (json) fmt::print("{}\n", list.dump(2));
  return 0;
}

struct Need {
  std::string what;
  ml::MemoryNeed memory;
};

Need inference_need(const ml::InferenceMemory& memory) {
  return {"inference", {memory.weights * 1.05 + memory.cache, kGib}};
}
Need training_need(std::string what, const ml::TrainingMemory& memory) {
  // What is kept of the weights is divided; each GPU has activations of its own.
  return {std::move(what), {memory.weights + memory.trained + memory.room - kGib, memory.activations + kGib}};
}

}  // namespace

int estimate(const EstimateOptions& options) {
  const auto fail = [](const std::string& message) {
    view::print_error("minke", message);
    return 1;
  };
  if (options.published) return published(options.json);
  if (options.model.empty()) return fail("which model? A directory, or one of 8B, 70B, 405B, gemma-3-1b");
  const auto precision = ml::parse_precision(options.precision);
  const auto cache = ml::parse_precision(options.cache_precision);
  const auto optimizer = ml::parse_optimizer(options.optimizer);
  if (!precision || !cache) return fail("a precision is fp32, bf16, fp16, fp8, int8, int4 or nf4");
  if (!optimizer) return fail("an optimizer is adamw, adamw-16bit or adamw-8bit");
  if (const auto time = text::parse_minutes(options.time); !time || *time == 0)
    return fail("invalid --time: " + options.time);
  const auto clusters = ml::cluster_names();
  if (!options.cluster.empty() &&
      std::find(clusters.begin(), clusters.end(), options.cluster) == clusters.end()) {
    std::string known;
    for (const std::string_view name : clusters) known.append(known.empty() ? "" : ", ").append(name);
    return fail("no cluster is known as " + options.cluster + "; there are " + known);
  }
  const auto found = find_model(options.model);
  if (!found) return fail(found.error().message);
  const ml::ModelShape& shape = found->shape;

  const auto inference = ml::inference_memory(shape, *precision, *cache, options.context, options.batch);
  std::vector<Need> needs = {inference_need(inference)};
  struct Row {
    const char* name;
    ml::Method method;
    ml::TrainingMemory memory;
  };
  std::vector<Row> rows = {
      {"full", ml::Method::kFull, {}}, {"lora", ml::Method::kLora, {}}, {"qlora", ml::Method::kQlora, {}}};
  for (Row& row : rows) {
    row.memory = ml::training_memory(shape, {.method = row.method,
                                             .optimizer = *optimizer,
                                             .rank = options.rank,
                                             .tokens = options.context,
                                             .batch = options.batch});
    needs.push_back(training_need(row.name, row.memory));
  }
  const Need& need =
      *std::find_if(needs.begin(), needs.end(), [&](const Need& one) { return one.what == options.task; });

  Json out;
  out["model"] = shape.name;
  out["parameters"] = shape.parameters;
  out["stored_bytes"] = shape.stored_bytes;
  out["inference"] = {{"precision", ml::precision_name(*precision)},
                      {"weights_bytes", inference.weights},
                      {"kv_cache_bytes", inference.cache},
                      {"total_bytes", inference.total()}};
  for (const Row& row : rows)
    out["training"][row.name] = {{"weights_bytes", row.memory.weights},
                                 {"trained_bytes", row.memory.trained},
                                 {"activations_bytes", row.memory.activations},
                                 {"total_bytes", row.memory.total()}};
  std::string text =
      fmt::format("{}: {} parameters ({})\n", shape.name, with_commas(shape.parameters), found->source);
  text += fmt::format("{} layers, {} heads of {}, {} of them with keys and values\n\n", shape.layers,
                      shape.heads, shape.head_size, shape.kv_heads);

  text += "Weights, GiB      FP32      FP16       FP8      INT4\n                ";
  for (const auto one :
       {ml::Precision::kFp32, ml::Precision::kFp16, ml::Precision::kFp8, ml::Precision::kInt4})
    text += fmt::format("{:>6}    ", gib(ml::weight_bytes(static_cast<double>(shape.parameters), one)));
  while (text.ends_with(' ')) text.pop_back();
  if (shape.stored_bytes != 0)
    text += fmt::format("\nAs stored: {} GiB", gib(static_cast<double>(shape.stored_bytes)));
  text += fmt::format("\n\nInference with {} weights, {} sequence{} of {} tokens, GiB\n",
                      ml::precision_name(*precision), options.batch, options.batch == 1 ? "" : "s",
                      options.context);
  text += fmt::format("  weights {}, keys and values {}, room for computing {}: {}\n", gib(inference.weights),
                      gib(inference.cache), gib(inference.room), gib(inference.total()));
  text +=
      fmt::format("\nTraining with {}, {} sequence{} of {} tokens a GPU, activations computed again, GiB\n",
                  options.optimizer, options.batch, options.batch == 1 ? "" : "s", options.context);
  text += "           weights   trained  activations    total\n";
  for (const Row& row : rows)
    text += fmt::format("  {:<6} {:>10} {:>9} {:>12} {:>8}\n", row.name, gib(row.memory.weights),
                        gib(row.memory.trained), gib(row.memory.activations), gib(row.memory.total()));
  if (shape.max_context != 0 && options.context > shape.max_context)
    text += fmt::format("\nThe model is made for {} tokens at most.\n", shape.max_context);

  text += fmt::format("\nTo ask for, for {}\n", need.what);
  for (const std::string_view cluster : clusters) {
    if (!options.cluster.empty() && cluster != options.cluster) continue;
    const auto placement = ml::place(cluster, need.memory);
    if (!placement) {
      text += fmt::format("\n# {}: more than 64 of its nodes, or than one of its GPUs must hold\n", cluster);
      out["clusters"][std::string(cluster)] = nullptr;
      continue;
    }
    const std::string cost = placement->rgu_hours
                                 ? fmt::format("{:.2f} RGU-hours an hour", *placement->rgu_hours)
                                 : "no RGU is published";
    text += fmt::format("\n# {}: {:.0f} % of each GPU's {:.0f} GB; {}\n", cluster,
                        placement->used_share * 100, placement->offer->memory_gib, cost);
    const auto lines = ml::sbatch_lines(*placement, options.time);
    for (const std::string& line : lines) text += line + "\n";
    out["clusters"][std::string(cluster)] = {
        {"sbatch", lines},
        {"nodes", placement->nodes},
        {"gpus_per_node", placement->gpus_per_node},
        {"gpu", placement->offer->specifier},
        {"rgu_hours_per_hour", placement->rgu_hours ? Json(*placement->rgu_hours) : Json()}};
  }
  view::write_out(options.json ? out.dump(2) + "\n" : text);
  return 0;
}

}  // namespace minke::cli
