// minke doctor --repair and minke backup: the cluster's database, by hand.
#pragma once

#include <string>

namespace minke::cli {

int repair_database();
int back_up_database(const std::string& file);

}  // namespace minke::cli
