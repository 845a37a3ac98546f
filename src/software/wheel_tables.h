// The rows of avail_wheels (wheel_query.h) in its formats. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::software {

// `format`: simple, plain, github, mediawiki, tsv or csv, named as Python's tabulate names them.
std::string format_table(std::string_view format, const std::vector<std::string>& columns,
                         const std::vector<std::vector<std::string>>& rows);

// The names of the wheels' files, a line each, from rows of these columns.
const std::vector<std::string>& file_name_columns();
std::string file_names(const std::vector<std::vector<std::string>>& rows);

}  // namespace minke::software
