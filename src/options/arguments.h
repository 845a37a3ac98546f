// Splits the words behind a command's name into options and operands as glibc's getopt_long does, but without
// its globals: with its abbreviations, its order and its messages.
//
// Pure; may be called from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "options/option.h"

namespace minke::options {

enum class Order {
  kAnywhere,  // options may stand behind operands
  kFirst,     // the first operand ends the options ("+" of getopt, POSIXLY_CORRECT)
};

struct Setting {
  size_t option;  // its index
  std::optional<std::string> value;
};

struct Arguments {
  std::vector<Setting> settings;  // in their order, up to the problem
  std::vector<std::string> operands;
  std::string problem;  // not empty: getopt's message, without the program's name
};

Arguments read_arguments(std::span<const Option> options, std::span<const std::string> words, Order order);

}  // namespace minke::options
