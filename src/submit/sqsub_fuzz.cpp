// Any words after sqsub become sbatch's arguments and a script, or one line of refusal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "submit/sqsub.h"

// The input has one argument on each line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    arguments.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  const auto translated = minke::submit::translate_sqsub(arguments);
  if (!translated) {
    MINKE_CHECK(!translated.error().message.empty());
  } else if (!translated->show_help) {
    MINKE_CHECK(translated->script.starts_with("#!"));
  }
  return 0;
}
