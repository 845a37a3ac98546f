// Tokens of programs that last: JWT as `scontrol token` prints them (HS256; claims exp, iat, sun), signed
// with a key that only its user can read, in ~/.config/minke. The personal portal takes those of its own
// user. Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::portal {

inline constexpr int64_t kTokenSeconds = 1800;  // unless asked otherwise, as in Slurm
inline constexpr int64_t kLongestTokenSeconds = 2147483646;

// Reads this user's key; makes one where there is none.
Result<std::string> token_key();

std::string make_token(std::string_view key, std::string_view user, int64_t now, int64_t seconds);
// Whether the key has signed it, for this user, and it has not expired.
bool is_token(std::string_view key, std::string_view token, std::string_view user, int64_t now);

}  // namespace minke::portal
