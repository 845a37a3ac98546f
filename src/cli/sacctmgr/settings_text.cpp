#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "cli/sacctmgr/settings.h"
#include "model/accounts.pb.h"
#include "text/duration.h"
#include "view/account_settings.h"

namespace minke::cli {
namespace {

std::string lines_of(const view::Settings& settings, int width) {
  std::string text;
  for (const auto& [name, value] : settings)
    fmt::format_to(std::back_inserter(text), "  {:<{}}= {}\n", name, width, value);
  return text;
}

}  // namespace

int tres_rank(std::string_view name) {
  constexpr std::array<std::string_view, 8> kOrder = {"cpu",     "mem",     "energy", "node",
                                                      "billing", "fs/disk", "vmem",   "pages"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), name) - kOrder.begin());
}

std::string tres_text(const google::protobuf::RepeatedPtrField<model::Tres>& limits, bool by_name) {
  return view::tres_text(limits, by_name);
}

std::string minutes_text(uint32_t minutes) {
  return text::format_minutes(minutes);
}

std::string settings_text(const model::AssociationRecord& record) {
  return lines_of(view::settings_of(record), 14);
}

std::string settings_text(const model::QosRecord& record) {
  return fmt::format("  Description    = {}\n", record.description()) +
         lines_of(view::settings_of(record), 25);
}

}  // namespace minke::cli
