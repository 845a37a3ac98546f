#include "engine/slurm/told_fields.h"

#include <algorithm>

#include "text/number.h"

namespace minke::engine::slurm {

ToldFields told_fields(std::string_view line, std::string_view columns) {
  ToldFields fields;
  const auto names = text::split(columns, ',');
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    const size_t end = is_last ? line.size() : line.find('|');
    if (end == std::string_view::npos) return {};
    fields[names[i]] = line.substr(0, end);
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  return fields;
}

}  // namespace minke::engine::slurm
