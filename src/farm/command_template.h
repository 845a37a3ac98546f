// A case's command: the words that a user gave, with the case's values in the place of {…}. The words are the
// arguments of a program: no shell reads them, so no value of a table is ever a command. Pure; any thread.
//
//   {}  the case: its line, path or object    {name}  its column of this name    {2}  its second column
//   {#} its number                            {/} {//} {.} {/.}  of a path: name, directory, without
//   extension, both
//   {{ and }}  a brace
// Words without any of these get the case as one more argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::farm {

// The values of a case.
struct Values {
  uint64_t number = 0;  // from 1
  std::string whole;
  std::vector<std::string> names;  // of the columns; none: they have only numbers
  std::vector<std::string> columns;
};

class CommandTemplate {
 public:
  // Error: a brace that is not closed.
  static Result<CommandTemplate> make(std::vector<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  // Error: a column that this case does not have.
  Result<std::vector<std::string>> fill(const Values& values) const;

 private:
  explicit CommandTemplate(std::vector<std::string> words) : words_(std::move(words)) {}
  std::vector<std::string> words_;
};

}  // namespace minke::farm
