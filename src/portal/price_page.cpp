// What a job would hold and cost, before it is submitted: by its request and its time limit.
#include <cerrno>
#include <set>

#include "accounts/billing.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "portal/job_json.h"
#include "portal/page_answers.h"
#include "portal/site.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/number.h"
#include "view/text.h"

namespace minke::portal {
namespace {

constexpr uint64_t kMostGpus = 100'000;

struct GpusWanted {
  uint64_t count = 0;
  std::string type;
};

// "2", "a100", "a100:2", "gpu:a100:2".
Result<GpusWanted> gpus_wanted(const std::string& given) {
  GpusWanted wanted;
  if (text::trim(given).empty()) return wanted;
  wanted.count = 1;
  for (const std::string_view part : text::split(text::trim(given), ':')) {
    if (const auto count = text::parse_unsigned(part, kMostGpus))
      wanted.count = *count;
    else if (part != "gpu" && !part.empty())
      wanted.type = part;
    else if (part.empty())
      return failure("the parameter gpus is none of 2, a100, a100:2", EINVAL);
  }
  return wanted;
}

// Of a cluster with one type alone, who names none gets that.
std::string only_type(engine::Engine& cluster) {
  const auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return {};
  std::set<std::string> types;
  for (const model::NodeRecord* node : nodes->records)
    for (const model::Gres& gres : node->gres())
      if (gres.name() == "gpu") types.insert(gres.type());
  return types.size() == 1 ? *types.begin() : std::string();
}

}  // namespace

Result<Reply> show_price(Call& call) {
  constexpr double kMibOfGb = 1e9 / (1 << 20);
  const auto minutes = call.has("time") ? text::parse_minutes(call.text("time")) : Result<uint32_t>(0);
  if (!minutes) return failure(minutes.error().message, EINVAL);
  const auto memory = call.has("memory") ? text::parse_mib(call.text("memory")) : Result<uint64_t>(0);
  if (!memory) return failure(memory.error().message, EINVAL);
  auto gpus = gpus_wanted(call.text("gpus"));
  if (!gpus) return failure(gpus.error());
  if (gpus->count > 0 && gpus->type.empty()) gpus->type = only_type(call.cluster);
  const auto cores = static_cast<double>(call.number("cpus", 1) * call.number("tasks", 1));
  const bool is_bounded = *minutes != view::kUnlimited;
  const double hours = is_bounded ? *minutes / 60.0 : 0, gpu_hours = static_cast<double>(gpus->count) * hours;
  const auto rgu = accounts::rgu_of(gpus->type);
  const double gigabytes = static_cast<double>(*memory) / kMibOfGb;
  const config::PortalSettings settings = site_settings();
  const double cost =
      gpus->count > 0 ? gpu_hours * settings.costs.gpu_hour : cores * hours * settings.costs.core_hour;
  return json_reply({{"core_hours", cores * hours},
                     {"core_equivalent_hours", accounts::core_equivalents(cores, gigabytes) * hours},
                     {"gpu_hours", gpu_hours},
                     {"gpu_type", gpus->type},
                     {"rgu_hours", rgu && gpus->count > 0 ? Json(*rgu * gpu_hours) : Json()},
                     {"cost", cost},
                     {"currency", settings.costs.currency},
                     {"is_bounded", is_bounded}});
}

}  // namespace minke::portal
