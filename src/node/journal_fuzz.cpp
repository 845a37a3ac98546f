// Fuzz target: a journal may have any bytes. Reading ends, with a prefix that can be read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "node/journal.h"
#include "node/journal.pb.h"
#include "node/launch_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace minke::node;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto contents = parse_journal(bytes);
  if (!contents) return 0;
  MINKE_CHECK(contents->readable_bytes <= size);
  auto again = parse_journal(bytes.substr(0, contents->readable_bytes));
  MINKE_CHECK(again && again->records.size() == contents->records.size());
  LaunchTable table;
  for (const JournalRecord& record : contents->records) table.apply(record);
  LaunchTable copy;
  for (const JournalRecord& record : table.records()) copy.apply(record);
  MINKE_CHECK(copy.all().size() == table.all().size());
  return 0;
}
