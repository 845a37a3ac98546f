// The environment of a program that is started, and its arguments as the kernel takes them. Any thread that
// nobody changes the environment beside.
#pragma once

#include <string>
#include <vector>

namespace minke::os {

// This program's environment with changes: NAME=VALUE takes the place of what was there, "NAME" removes it.
std::vector<std::string> laid_over(const std::vector<std::string>& changes);

// For execve(2); valid as long as `texts` is.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

}  // namespace minke::os
