#include "engine/slurm/json_fields.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "text/duration.h"

namespace minke::engine::slurm {

using nlohmann::json;

namespace {

constexpr uint64_t kNoValue32 = 0xfffffffe, kNoValue64 = 0xfffffffffffffffe, kInfinite64 = 0xffffffffffffffff,
                   kNoValue16 = 0xfffe;
constexpr double kMost = 9e15;

}  // namespace

const json& field(const json& object, const char* name) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::optional<uint64_t> number(const json& value) {
  if (value.is_object()) {
    const json& set = field(value, "set");
    const json& infinite = field(value, "infinite");
    if (infinite.is_boolean() && infinite.get<bool>()) return text::kUnlimited;
    if (set.is_boolean() && !set.get<bool>()) return std::nullopt;
    return number(field(value, "number"));
  }
  if (value.is_number_unsigned()) {
    const auto plain = value.get<uint64_t>();
    if (plain == kNoValue32 || plain == kNoValue64 || plain == kNoValue16) return std::nullopt;
    if (plain == kInfinite64) return text::kUnlimited;
    return plain;
  }
  if (value.is_number_integer()) return std::nullopt;  // negative
  if (value.is_number_float()) {
    const auto real = value.get<double>();
    if (real >= 0 && real < kMost) return static_cast<uint64_t>(real);
  }
  return std::nullopt;
}

uint32_t small_number(const json& object, const char* name) {
  return static_cast<uint32_t>(std::min<uint64_t>(number(object, name).value_or(0), text::kUnlimited));
}

int64_t time_of(const json& object, const char* name) {
  constexpr uint64_t kLatest = uint64_t{1} << 40;
  const auto value = number(object, name);
  return value && *value < kLatest && *value != text::kUnlimited ? static_cast<int64_t>(*value) : 0;
}

int64_t signed_number(const json& object, const char* name) {
  const json& value = field(object, name);
  if (value.is_number_integer() && !value.is_number_unsigned()) return value.get<int64_t>();
  return static_cast<int64_t>(std::min<uint64_t>(number(value).value_or(0), text::kUnlimited));
}

bool flag(const json& object, const char* name) {
  const json& value = field(object, name);
  return value.is_boolean() ? value.get<bool>() : number(value).value_or(0) != 0;
}

std::string text_of(const json& object, const char* name) {
  const json& value = field(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::vector<std::string> words_of(const json& object, const char* name) {
  const json& value = field(object, name);
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> words;
  if (!value.is_array()) return words;
  for (const json& one : value) {
    if (one.is_string()) words.push_back(one.get<std::string>());
  }
  return words;
}

int32_t wait_status(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_object() || value.contains("number"))
    return static_cast<int32_t>(number(value).value_or(0) & 0xffff);
  const uint64_t code = number(value, "return_code").value_or(0) & 0xff;
  const json& signal = field(value, "signal");
  const auto id = number(signal, "id");
  const uint64_t ended_by = id ? *id : number(signal, "signal_id").value_or(0);
  return static_cast<int32_t>(code << 8 | (ended_by & 0x7f));
}

}  // namespace minke::engine::slurm
