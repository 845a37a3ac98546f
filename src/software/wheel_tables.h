// The rows of avail_wheels (wheel_query.h) in its formats. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::software {

// `format` is simple, plain, github, mediawiki, tsv or csv, as named by Python's tabulate.
std::string format_table(std::string_view format, const std::vector<std::string>& columns,
                         const std::vector<std::vector<std::string>>& rows);

// Returns the names of the wheels' files, one on each line, from rows of these columns.
const std::vector<std::string>& file_name_columns();
std::string file_names(const std::vector<std::vector<std::string>>& rows);

}  // namespace minke::software
