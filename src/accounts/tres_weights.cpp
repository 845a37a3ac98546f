#include "accounts/tres_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "accounts/billing.h"
#include "text/number.h"

namespace minke::accounts {
namespace {

Result<TresWeights> rgu_weights(std::string_view cluster) {
  const auto bundle = bundle_of(cluster);
  if (!bundle)
    return failure("no RGU bundle of '" + std::string(cluster) +
                   "' is known: fir, narval, nibi, rorqual, trillium");
  TresWeights weights;
  weights.maximum = true;
  weights.each.emplace_back("cpu", 1 / bundle->cores);
  weights.each.emplace_back("mem", 1 / bundle->memory_gb / 1024);
  for (const std::string_view type : rgu_types())
    weights.each.emplace_back("gres/gpu:" + std::string(type), *rgu_of(type));
  return weights;
}

// Returns the weight of one more MiB if a unit of `suffix` weighs 1.
double mib_of(char suffix) {
  constexpr std::array kUnits = {'k', 'm', 'g', 't', 'p'};
  const auto unit = std::find(kUnits.begin(), kUnits.end(), suffix);
  return std::pow(1024.0, static_cast<double>(unit - kUnits.begin()) - 1);
}

}  // namespace

Result<TresWeights> parse_tres_weights(std::string_view text) {
  if (text.starts_with("rgu:")) return rgu_weights(text.substr(4));
  TresWeights weights;
  for (std::string_view item : text::split(text, ',')) {
    item = text::trim(item);
    const size_t equals = item.find('=');
    const auto wrong = [&] {
      return failure(std::string("'").append(item) + "' is no weight such as CPU=1.0");
    };
    if (equals == std::string_view::npos || equals == 0) return wrong();
    std::string name;
    for (const char c : item.substr(0, equals)) name += text::to_lower(c);
    if (name.find('/') == std::string::npos && name != "cpu" && name != "mem" && name != "node" &&
        name != "billing" && name != "energy" && name != "vmem" && name != "pages")
      return wrong();
    const std::string value(item.substr(equals + 1));
    char* end = nullptr;
    const double weight = std::strtod(value.c_str(), &end);
    const std::string_view suffix = end;
    if (end == value.c_str() || !std::isfinite(weight) || suffix.size() > 1) return wrong();
    double factor = 1;
    if (!suffix.empty()) {
      const char unit = text::to_lower(suffix[0]);
      if (name != "mem" || std::string_view("kmgtp").find(unit) == std::string_view::npos) return wrong();
      factor = 1 / mib_of(unit);
    }
    weights.each.emplace_back(name, weight * factor);
  }
  return weights;
}

double billing_of(const TresCounts& counts, const TresWeights& weights) {
  if (weights.empty()) return static_cast<double>(count_of(counts, "cpu"));
  double sum = 0, largest = 0, plain_gres = 0, typed_gres = 0, licenses = 0;
  for (const auto& [name, weight] : weights.each) {
    const double term = weight * static_cast<double>(count_of(counts, name));
    sum += term;
    if (name.starts_with("license/")) {
      licenses += term;
    } else if (name.starts_with("gres/")) {
      (name.find(':') == std::string::npos ? plain_gres : typed_gres) += term;
    } else {
      largest = std::max(largest, term);
    }
  }
  return std::max(0.0, weights.maximum ? std::max({largest, plain_gres, typed_gres}) + licenses : sum);
}

}  // namespace minke::accounts
