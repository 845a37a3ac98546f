#include "config/portal_settings.h"

#include "config/table.h"
#include "os/files.h"

namespace minke::config {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 20;
constexpr size_t kMostMessages = 20, kLongestMessage = 2000;
constexpr double kMostCost = 1e9;

struct CostField {
  std::string_view key;
  double clusters::Costs::*field;
};
constexpr CostField kCostFields[] = {{"core_hour", &clusters::Costs::core_hour},
                                     {"gpu_hour", &clusters::Costs::gpu_hour},
                                     {"kwh", &clusters::Costs::kwh},
                                     {"cooling", &clusters::Costs::cooling},
                                     {"kg_co2_per_mwh", &clusters::Costs::kg_co2_per_mwh},
                                     {"km_per_kwh", &clusters::Costs::km_per_kwh},
                                     {"cloud_core_hour", &clusters::Costs::cloud_core_hour},
                                     {"cloud_gpu_hour", &clusters::Costs::cloud_gpu_hour}};

void read_portal_settings(Table& section, PortalSettings& settings) {
  section.boolean("public", [&](bool given) { settings.is_public = given; });
  section.texts("messages", [&](const std::string& message) -> Status {
    if (message.empty() || message.size() > kLongestMessage || settings.messages.size() == kMostMessages)
      return failure("must be at most 20 texts of at most 2000 bytes");
    settings.messages.push_back(message);
    return {};
  });
  section.text("currency", [&](const std::string& given) -> Status {
    if (given.empty() || given.size() > 8) return failure("must be a sign or a short name, such as \"$\"");
    settings.costs.currency = given;
    settings.has_own_costs = true;
    return {};
  });
  section.text("apps", [&](const std::string& given) -> Status {
    if (!given.starts_with('/')) return failure("must be a directory's absolute path");
    settings.app_directory = given;
    return {};
  });
  for (const CostField& one : kCostFields)
    section.real(one.key, 0, kMostCost, [&](double value) {
      settings.costs.*one.field = value;
      settings.has_own_costs = true;
    });
}

}  // namespace

void check_portal_settings(Table& section) {
  PortalSettings checked;
  read_portal_settings(section, checked);
}

PortalSettings load_portal_settings(const std::string& path) {
  PortalSettings settings;
  if (path.empty() || path.ends_with(".conf")) return settings;
  const auto text = os::read_file(path, kMaxFileBytes);
  if (!text) return settings;
  const toml::parse_result parsed = toml::parse(*text, path);
  if (!parsed) return settings;
  Table table(parsed.table(), path, "minke.toml");
  table.text("operators", settings.operators);
  table.sub_table("portal", [&](Table& section) { read_portal_settings(section, settings); });
  return settings;
}

}  // namespace minke::config
