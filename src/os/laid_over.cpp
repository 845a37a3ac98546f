#include "os/laid_over.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

extern char** environ;

namespace minke::os {

std::vector<std::string> laid_over(const std::vector<std::string>& changes) {
  const auto name_of = [](std::string_view line) { return line.substr(0, line.find('=')); };
  std::vector<std::string> merged;
  for (char** line = environ; *line != nullptr; ++line) {
    const bool changed = std::any_of(changes.begin(), changes.end(), [&](const std::string& change) {
      return name_of(change) == name_of(*line);
    });
    if (!changed) merged.emplace_back(*line);
  }
  for (const std::string& change : changes) {
    if (change.find('=') != std::string::npos) merged.push_back(change);
  }
  return merged;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace minke::os
