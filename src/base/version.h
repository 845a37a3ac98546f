// The program's own version, and the Slurm whose behaviour its Slurm-named commands follow.
#pragma once

namespace minke {

inline constexpr char kVersion[] = "0.1.0";
inline constexpr char kSlurmVersion[] = "22.05.8";

}  // namespace minke
