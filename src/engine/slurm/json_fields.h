// Fields of what Slurm prints with --json. From release to release a number is a number or {"set": true,
// "infinite": false, "number": 5}, a state a word or a list of words, and a field is there or is not: what is
// not there, or not set, is nothing, never an error. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace minke::engine::slurm {

// The field `name` of an object; null where there is none.
const nlohmann::json& field(const nlohmann::json& object, const char* name);

// Infinite ones are text::kUnlimited; the marks of old releases for "not set" (4294967294 and the like), and
// what is negative, are nothing.
std::optional<uint64_t> number(const nlohmann::json& value);
inline std::optional<uint64_t> number(const nlohmann::json& object, const char* name) {
  return number(field(object, name));
}
// With 0 for nothing.
uint32_t small_number(const nlohmann::json& object, const char* name);
// s since the epoch; 0: not known.
int64_t time_of(const nlohmann::json& object, const char* name);
int64_t signed_number(const nlohmann::json& object, const char* name);
bool flag(const nlohmann::json& object, const char* name);
std::string text_of(const nlohmann::json& object, const char* name);
// A word, or a list of words.
std::vector<std::string> words_of(const nlohmann::json& object, const char* name);
// A wait(2) status, of a number or of {"return_code": …, "signal": {"id": …}}.
int32_t wait_status(const nlohmann::json& object, const char* name);

}  // namespace minke::engine::slurm
