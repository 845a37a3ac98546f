// Reading any script gives #MINKE lines with a path each, or an error
// with a line number.
#include <cstddef>
#include <cstdint>
#include <string>

#include "submit/data_directives.h"

using namespace minke;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const std::string script(reinterpret_cast<const char*>(data), size);
  const auto read = submit::read_data_directives(script);
  if (!read) {
    MINKE_CHECK(!read.error().message.empty());
    return 0;
  }
  for (const auto* list : {&read->stage, &read->collect}) {
    for (const std::string& path : *list) MINKE_CHECK(!path.empty());
  }
  // A script without the word has no such lines.
  if (script.find("#MINKE") == std::string::npos) MINKE_CHECK(read->empty());
  return 0;
}
