// minke doctor --repair and minke backup: manual work on the cluster's database.
#pragma once

#include <string>

namespace minke::cli {

int repair_database();
int back_up_database(const std::string& file);
int restore_database(const std::string& file);

}  // namespace minke::cli
