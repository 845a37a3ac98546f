// Any bytes as aliases, as the name of a wheel, as a question for wheels, and as versions: they are read or
// refused; a value that was read can be written, and read again as the same; versions have an order.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "software/aliases.h"
#include "software/resolve.h"
#include "software/version.h"
#include "software/wheel_query.h"
#include "software/wheel_tables.h"
#include "text/number.h"

using namespace minke;
using namespace minke::software;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Aliases own;
  if (auto aliases = parse_aliases(text)) {
    const std::string written = format_aliases(*aliases);
    const auto again = parse_aliases(written);
    MINKE_CHECK(again && format_aliases(*again) == written);
    own = std::move(*aliases);
  }
  const auto lines = text::split(text, '\n');
  const std::string first(lines[0]), last(lines.back());
  const int order = compare_versions(first, last), back = compare_versions(last, first);
  MINKE_CHECK((order > 0) == (back < 0) && (order == 0) == (back == 0));
  if (const auto nearest = nearest_version(first, {last, "1.2", "3.11.2"}, true))
    MINKE_CHECK(*nearest == last || *nearest == "1.2" || *nearest == "3.11.2");
  Available available;
  available["gcc"] = {"12.2.0"};
  available["python"] = {"3.9.1", "3.11.2"};
  const Resolved resolved = resolve({first, last}, available, own);
  for (const std::string& name : resolved.modules)
    MINKE_CHECK(!name.empty() || first.empty() || last.empty());

  std::vector<Wheel> wheels;
  for (const std::string_view line : lines) {
    if (const auto wheel = parse_wheel_name(std::string(line))) {
      MINKE_CHECK(!wheel->name.empty() && !wheel->version.empty());
      wheels.push_back(*wheel);
    }
  }
  WheelQuery query;
  query.patterns = {first};
  query.version = last.substr(0, 20);
  query.not_available = size % 2 == 0;
  query.condense = size % 3 == 0;
  if (const auto rows = query_wheels(wheels, query)) (void)format_table("simple", query.columns, *rows);
  return 0;
}
