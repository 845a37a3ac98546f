// What a job's owner could do better next time: rules over what it asked for and what it used, the ones that
// Narval's portal shows and Minke's own. Each piece names its rule, with the numbers that it follows from.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::model {
class Series;
}  // namespace minke::model

namespace minke::view {

enum class Weight : uint8_t { kInfo, kWarning, kCritical };

struct Advice {
  std::string_view rule;  // "serial": names of rules are for ever
  Weight weight;
  std::string_view about;  // "cpu", "memory", "gpu", "time", "script"
  std::string text;        // in English
  std::vector<std::pair<std::string_view, double>> numbers = {};
};

// How many threads there were, on average over the job's time.
struct ThreadsMeasured {
  double running = 0, all = 0;
};

// By what was measured over its time; none: nothing was.
std::optional<ThreadsMeasured> threads_measured(const model::Series& series);

// `script` may be empty: nobody could read it. `threads`: none: not measured.
std::vector<Advice> advice_on(const api::AccountedJob& accounted, std::string_view script,
                              const std::optional<ThreadsMeasured>& threads, int64_t now);

std::string_view weight_word(Weight weight);  // "warning"

}  // namespace minke::view
