// One record of `scontrol -o show …`: "NodeName=n1 Arch=x86_64 … Reason=broken fan [root@…]" on one line, the
// same in all releases. A value goes on until the next word with a "=" in it. Texts of people's stand last,
// so that of a name that is there twice the first one holds. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace minke::engine::slurm {

class ShownRecord {
 public:
  explicit ShownRecord(std::string_view line);

  // Empty where there is none, and for Slurm's words for nothing: (null), N/A, n/a, n/s.
  std::string text(std::string_view name) const;
  uint64_t number(std::string_view name) const;   // 0: none
  uint32_t count(std::string_view name) const;    // text::kUnlimited: UNLIMITED; 0: none
  uint32_t minutes(std::string_view name) const;  // of a length of time; text::kUnlimited; 0: NONE
  int64_t time(std::string_view name) const;      // s since the epoch; 0: not known
  bool yes(std::string_view name) const;

 private:
  std::unordered_map<std::string, std::string> values_;
};

}  // namespace minke::engine::slurm
