#include "cli/estimate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "ml/cluster_profile.h"
#include "ml/known_models.h"
#include "ml/machine_offers.h"
#include "ml/memory.h"
#include "ml/model_shape.h"
#include "ml/published.h"
#include "ml/safetensors.h"
#include "model/cluster.pb.h"
#include "node/discovery.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "text/duration.h"
#include "text/nearest.h"
#include "text/printable.h"
#include "text/translate.h"
#include "view/memory_estimate.h"
#include "view/output.h"

namespace minke::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxConfigBytes = size_t{4} << 20;

// Reads only the header: the weights may be hundreds of gigabytes.
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
  std::string source;  // where its size comes from
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
  if (const auto known = ml::well_known_model(name)) return Model{*known, text::tr("known by name")};
  if (const auto guessed = ml::model_of_size(name))
    return Model{*guessed, text::tr("its shape is guessed, as Llama's would be")};
  const auto names = ml::known_model_names();
  const std::string_view meant = text::nearest(name, names);
  return failure(
      text::tr("there is no directory {}, and no model is known by that name", {text::printable(name)}) +
      (meant.empty() ? "" : text::tr("; did you mean {}?", {meant})) + "\n" +
      text::tr("A model is a directory with a config.json and, for the exact size, its *.safetensors; a "
               "size, as 13B; or one of these: {}",
               {fmt::format("{}", fmt::join(names, ", "))}));
}

// The cluster in use: its own answer where it runs, else what this machine would offer. No daemon is started.
// Null if neither is to be had.
std::shared_ptr<const ml::MachineOffers> offers_here() {
  if (const auto cluster = engine::open(engine::Start::kNever)) {
    const auto nodes = engine::fetch_nodes(**cluster);
    if (!nodes || nodes->records.empty()) return nullptr;
    const bool one = nodes->records.size() == 1;
    const auto offers = std::make_shared<ml::MachineOffers>(one ? nodes->records.front()->name()
                                                                : engine::fetch_cluster_name(**cluster));
    for (const model::NodeRecord* node : nodes->records) offers->add(*node);
    return offers;
  }
  const auto home = os::minke_home();
  if (!home) return nullptr;
  const auto config =
      config::load_configuration(*home, os::configuration_path(*home), node::discover_machine());
  if (!config || config->nodes.empty()) return nullptr;
  const auto offers = std::make_shared<ml::MachineOffers>(
      config->nodes.size() == 1 ? config->nodes.front().name() : config->cluster_name);
  for (const model::NodeRecord& node : config->nodes) offers->add(node);
  return offers;
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

std::string names_of(const std::vector<std::string_view>& clusters) {
  std::string names;
  for (const std::string_view name : clusters) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

// Tokens a sequence where nobody says: 8192, or as many as the model is made for.
uint64_t usual_context(const ml::ModelShape& shape) {
  constexpr uint64_t kUsual = 8192;
  return shape.max_context == 0 ? kUsual : std::min<uint64_t>(kUsual, shape.max_context);
}

// Reads the options, checks them and adds the model's size.
Result<view::EstimateTerms> read_terms(const EstimateOptions& options) {
  if (options.model.empty())
    return failure(text::tr(
        "which model? Its directory, a size such as 13B, or a name such as llama-3.1-8b or resnet50"));
  const auto precision = ml::parse_precision(options.precision);
  const auto cache = ml::parse_precision(options.cache_precision);
  const auto optimizer = ml::parse_optimizer(options.optimizer);
  if (!precision || !cache) return failure("a precision is fp32, bf16, fp16, fp8, int8, int4 or nf4");
  if (!optimizer) return failure("an optimizer is adamw, adamw-16bit or adamw-8bit");
  if (const auto time = text::parse_minutes(options.time); !time || *time == 0)
    return failure("invalid --time: " + options.time);
  const auto clusters = ml::cluster_names();
  if (!options.cluster.empty() && options.cluster != "here" &&
      std::find(clusters.begin(), clusters.end(), options.cluster) == clusters.end())
    return failure("no cluster is known as " + options.cluster + "; there are here, " + names_of(clusters));
  auto model = find_model(options.model);
  if (!model) return failure(model.error());
  const ml::ModelShape& shape = model->shape;
  if (shape.kind != ml::ModelKind::kDecoder && options.task.ends_with("lora"))
    return failure("--for " + options.task + " is counted for models that write text alone, not for " +
                   shape.name + ": --for full");
  return view::EstimateTerms{
      .shape = shape,
      .source = std::move(model->source),
      .task = options.task,
      .precision = *precision,
      .cache_precision = *cache,
      .optimizer_name = options.optimizer,
      .optimizer = *optimizer,
      .context = options.context != 0 ? options.context : usual_context(shape),
      .batch = options.batch,
      .rank = options.rank,
      .time = options.time,
      .cluster = options.cluster,
      .here = options.cluster.empty() || options.cluster == "here" ? offers_here() : nullptr};
}

}  // namespace

int estimate(const EstimateOptions& options) {
  if (options.published) return published(options.json);
  auto terms = read_terms(options);
  if (!terms) {
    view::print_error("minke", terms.error().message);
    return 1;
  }
  const view::MemoryEstimate estimate(std::move(*terms));
  view::write_out(options.json ? estimate.json() : estimate.text());
  return 0;
}

}  // namespace minke::cli
