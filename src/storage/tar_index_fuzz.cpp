// Any bytes behind an archive: it finds a footer or not, and entries that are written as they were read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/tar_format.h"

using namespace minke;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto footer = storage::parse_index_footer(text)) {
    const auto again = storage::parse_index_footer(storage::index_footer_text(*footer));
    MINKE_CHECK(again && again->offset == footer->offset && again->entries == footer->entries &&
                again->crc == footer->crc);
  }
  std::string_view rest = text;
  while (const auto entry = storage::take_index_entry(rest)) {
    const std::string written = storage::index_entry_text(*entry);
    std::string_view left = written;
    const auto again = storage::take_index_entry(left);
    MINKE_CHECK(again && left.empty() && again->offset == entry->offset && again->size == entry->size &&
                again->crc == entry->crc && again->name == entry->name);
  }
  return 0;
}
