// The program's own version, and the release of Slurm whose behaviour its Slurm-named commands follow.
#pragma once

#include <optional>
#include <string_view>

namespace minke {

inline constexpr char kVersion[] = "0.1.0";

// A release of Slurm, as its year and month.
inline constexpr int kSlurm22 = 2205, kSlurm24 = 2411, kSlurm26 = 2605;

// "24.11", also "24.11.5"; nothing for a release that is not spoken.
std::optional<int> parse_release(std::string_view text);
// The newest that is spoken and not newer than this version; the oldest for what is older, or for no version.
int nearest_release(std::string_view version);
// "24.11.5".
std::string_view slurm_version(int release);

// Of the daemons' protocol, as records of a cluster tell it.
int protocol_of(int release);

// The release that this process speaks: the newest, where nobody has said otherwise. Any thread.
int spoken_release();
void speak_release(int release);

}  // namespace minke
