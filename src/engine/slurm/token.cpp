#include "engine/slurm/token.h"

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "text/timestamp.h"

namespace minke::engine::slurm {
namespace {

constexpr size_t kLongestToken = size_t{64} << 10;
constexpr const char* kNewOne = "unset SLURM_JWT, and get a new one with scontrol token";

// Base64 as in addresses; nothing: other characters.
std::optional<std::string> decoded(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t value = kLetters.find(c == '+' ? '-' : c == '/' ? '_' : c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if ((count += 6) < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

// Nothing: it is no token. 0: it does not say.
std::optional<int64_t> end_of(std::string_view token) {
  const size_t first = token.find('.'),
               second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.size() > kLongestToken) return std::nullopt;
  const auto text = decoded(token.substr(first + 1, second - first - 1));
  if (!text) return std::nullopt;
  const auto claims = nlohmann::json::parse(*text, nullptr, false);
  if (!claims.is_object()) return std::nullopt;
  const auto end = claims.find("exp");
  return end != claims.end() && end->is_number_integer() ? end->get<int64_t>() : 0;
}

}  // namespace

std::string complaint_of(std::string_view token, int64_t now) {
  if (token.empty()) return {};
  const auto end = end_of(token);
  if (!end) return std::string("what SLURM_JWT has is no token: ") + kNewOne;
  if (*end > 0 && *end <= now)
    return "the token in SLURM_JWT has run out (" + text::format_time(*end) + "): " + kNewOne;
  return std::string("it does not take the token in SLURM_JWT: ") + kNewOne;
}

std::string token_complaint() {
  const char* token = std::getenv("SLURM_JWT");
  return complaint_of(token == nullptr ? "" : token, std::time(nullptr));
}

}  // namespace minke::engine::slurm
