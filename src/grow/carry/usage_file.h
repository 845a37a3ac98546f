// slurmctld's files assoc_usage and qos_usage (in its StateSaveLocation): what each association of a user,
// and each QOS, has used, decayed. All releases from 22.05 to 26.05 write them alike:
//
//   version   2 bytes   (all numbers with the highest byte first)
//   time      8 bytes   s since the epoch
//   and for each record, up to the end of the file:
//     id      4 bytes   of the association or QOS
//     raw     a text of a decimal number: billing units x s
//     TRES    a text, "1=120.000000,2=4096.000000": number of the TRES, units x s
//     wall    4 bytes   s
//   A text: its length with the NUL behind it in 4 bytes, then its bytes and that NUL; length 0: no text.
//
// A file of another form is refused as a whole, never guessed at. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::grow {

struct UsageFile {
  struct Record {
    uint32_t id = 0;
    long double raw = 0;
    std::map<uint32_t, long double> tres;  // by its number
    uint32_t wall = 0;
  };
  uint16_t version = 0;
  int64_t time = 0;
  std::vector<Record> records;
};

Result<UsageFile> parse_usage_file(std::string_view bytes);
std::string format_usage_file(const UsageFile& file);

}  // namespace minke::grow
