#include "search/parameter_words.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "search/value.h"

namespace minke::search {

namespace {

constexpr char kForms[] =
    "write NAME=log:1e-5..1e-1, NAME=uniform:0..1, NAME=int:1..8, NAME=q16:16..256, NAME=normal:0..1 (mean "
    "and deviation), "
    "NAME=a,b,c or NAME=value";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kKinds = {
    {{"log", "log_uniform_values"}, {"uniform", "uniform"}, {"int", "int_uniform"}, {"normal", "normal"}}};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789+-.eE_") == std::string::npos;
}

// As YAML reads it: a number, true or false stays one.
std::string scalar(const std::string& text) {
  static const std::vector<std::string> kWords = {"true", "false", "null", "True", "False"};
  if (is_number(text) || std::find(kWords.begin(), kWords.end(), text) != kWords.end()) return text;
  return json_string(text);
}

std::string list(std::string_view text) {
  std::string out = "[";
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    out += (at == 0 ? "" : ", ") + scalar(std::string(text.substr(at, end - at)));
    at = end + 1;
  }
  return out + "]";
}

// "log:1e-5..1e-1" into the keys of a sweep file; empty if it has another form.
std::string range(const std::string& text) {
  const size_t colon = text.find(':'), dots = text.find("..");
  if (colon == std::string::npos || dots == std::string::npos || dots < colon) return "";
  const std::string kind = text.substr(0, colon), low = text.substr(colon + 1, dots - colon - 1),
                    high = text.substr(dots + 2);
  if (!is_number(low) || !is_number(high)) return "";
  for (const auto& [word, distribution] : kKinds) {
    if (kind != word) continue;
    const bool normal = word == "normal";
    return "{distribution: " + std::string(distribution) + (normal ? ", mu: " : ", min: ") + low +
           (normal ? ", sigma: " : ", max: ") + high + "}";
  }
  if (kind.size() > 1 && kind.front() == 'q' && is_number(kind.substr(1)))
    return "{distribution: q_uniform, q: " + kind.substr(1) + ", min: " + low + ", max: " + high + "}";
  return "";
}

}  // namespace

Result<std::string> sweep_text(const SweepWords& words) {
  std::string out;
  if (!words.name.empty()) out += "name: " + json_string(words.name) + "\n";
  out += "method: " + (words.method.empty() ? std::string("random") : json_string(words.method)) + "\n";
  if (!words.metric.empty())
    out += "metric: {name: " + json_string(words.metric) +
           ", goal: " + (words.goal.empty() ? "minimize" : json_string(words.goal)) + "}\n";
  out += "parameters:\n";
  for (const std::string& word : words.parameters) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return failure("--param " + word + ": " + kForms);
    const std::string value = word.substr(equals + 1);
    std::string read = range(value);
    if (read.empty() && value.find("..") != std::string::npos && value.find(',') == std::string::npos)
      return failure("--param " + word + ": " + kForms);
    if (read.empty())
      read = value.find(',') != std::string::npos ? "{values: " + list(value) + "}"
                                                  : "{value: " + scalar(value) + "}";
    out += "  " + json_string(word.substr(0, equals)) + ": " + read + "\n";
  }
  if (words.command.empty()) return failure("what is to run is missing: put -- and the command at the end");
  out += "command:\n";
  bool macro = false;
  for (const std::string& word : words.command) {
    out += "  - " + json_string(word) + "\n";
    macro = macro || word.find("${") != std::string::npos;
  }
  if (!macro) out += "  - ${args}\n";
  return out;
}

}  // namespace minke::search
