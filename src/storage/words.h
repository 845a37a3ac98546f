// Writes sizes, numbers and paths for people. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::storage {

// "812 B", "12.3 GiB": three digits at least, powers of 1024.
std::string bytes_text(uint64_t bytes);
// "203,112"
std::string number_text(uint64_t number);
// A path for a terminal or a line of a log: anything but printable UTF-8 (a newline, an escape) is escaped
// as in C: \n, \033.
std::string shown_path(std::string_view path);
// "5 files", "1 file"
std::string counted(uint64_t number, std::string_view noun);
// Reads "20G", "500M", "1.5T", "512K", "10000": bytes, powers of 1024; returns 0 for anything else.
uint64_t parse_bytes(std::string_view text);

}  // namespace minke::storage
