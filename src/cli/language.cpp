#include "cli/language.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "text/translate.h"

namespace minke::cli {
namespace {

constexpr std::string_view kSpeaking[] = {"",    "doctor", "estimate", "help", "jobs",  "setup",
                                          "top", "why",    "sbatch",   "srun", "salloc"};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void take_language(std::string_view command) {
  if (std::find(std::begin(kSpeaking), std::end(kSpeaking), command) == std::end(kSpeaking)) return;
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    return text::speak(text::language_of(variable("LANGUAGE"), value));
  }
}

}  // namespace minke::cli
