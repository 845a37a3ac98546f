// What is wrong with the words that a command was given, and what to write instead: CLI11's errors in words
// for people. Pure; any thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace minke::cli {

// `app` is the command whose words were read last. One line, printable.
std::string wrong_words(const CLI::App& app, const CLI::ParseError& error);

// Whether something is missing, so that an example helps.
bool lacks_words(const CLI::ParseError& error);

}  // namespace minke::cli
