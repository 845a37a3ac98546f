#include "text/list.h"

#include "text/number.h"

namespace minke::text {

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  for (std::string_view part : split(text, ','))
    if (!part.empty()) parts.emplace_back(part);
  return parts;
}

}  // namespace minke::text
