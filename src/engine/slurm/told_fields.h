// A line of a command with --parsable2: the fields by their columns. Pure.
#pragma once

#include <map>
#include <string_view>

namespace minke::engine::slurm {

using ToldFields = std::map<std::string_view, std::string_view>;

// `columns`: as the command's --format had them. The last one has the rest of the line, whatever is in it:
// texts of people's stand there. Empty: the line has too few fields.
ToldFields told_fields(std::string_view line, std::string_view columns);

}  // namespace minke::engine::slurm
