// What a job's owner could do better next time: rules over what it asked for and what it used, the ones that
// Narval's portal shows and Minke's own. Each piece names its rule, with the numbers that it follows from.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::view {

enum class Weight : uint8_t { kInfo, kWarning, kCritical };

struct Advice {
  std::string_view rule;  // "serial": names of rules are for ever
  Weight weight;
  std::string_view about;  // "cpu", "memory", "gpu", "time", "script"
  std::string text;        // in English
  std::vector<std::pair<std::string_view, double>> numbers = {};
};

// `script` may be empty: nobody could read it. `running_threads`: on average; 0: not measured.
std::vector<Advice> advice_on(const api::AccountedJob& accounted, std::string_view script,
                              double running_threads, int64_t now);

std::string_view weight_word(Weight weight);  // "warning"

}  // namespace minke::view
