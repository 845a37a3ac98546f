// --cpu-freq, in numbers: what a job asks of its processors' frequency. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace minke::text {

// Kilohertz, or Slurm's numbers for names, which are above all kilohertz.
struct CpuFrequency {
  std::optional<uint32_t> least, most, governor;
};

// The number of a frequency: kilohertz as given, or that of "low", "medium", "high" or "highm1"; 0 for any
// other word, the highest number for digits beyond all frequencies.
uint64_t cpu_frequency_number(std::string_view word);

// The number of a governor, in any case of letters; nothing for any other word.
std::optional<uint32_t> governor_number(std::string_view word);

// What "p1[-p2][:governor]" or "governor" asks for. One frequency is the highest, and one without a governor
// has UserSpace, as in Slurm. `given` is one that sbatch takes; of any other it has what can be read.
CpuFrequency read_cpu_frequency(std::string_view given);

}  // namespace minke::text
