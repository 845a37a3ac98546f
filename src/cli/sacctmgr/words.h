// The words of sacctmgr's commands: conditions and settings, NAME=VALUE with abbreviated names.
//
// Pure.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::cli {

struct Word {
  std::string name;  // lower case, in full: "maxjobs"; empty: a name alone
  std::string value;
  char sign = '=';   // '+' and '-': += and -=
  std::string text;  // as given
};

struct Words {
  std::vector<Word> where;
  std::vector<Word> set;
};
// Splits the words behind the entity at "where" and "set". `modify`: bare words in front of "set" are
// conditions; else all the words before are both, and `where` has them.
Words split_words(std::span<char* const> words);

// Returns the value of the condition `name` as a list; empty if not given.
std::vector<std::string> list_of(std::span<const Word> words, std::string_view name);
std::vector<std::string> lower_list(std::string_view value);
// Returns names given alone, as name=, or as `entity`=.
std::vector<std::string> names_in(std::span<const Word> words, std::string_view entity);
// Returns the value as given; empty if not given.
std::string value_of(std::span<const Word> words, std::string_view name);
bool is_one_of(const Word& word, std::initializer_list<std::string_view> names);
// In Slurm's words.
std::string unknown_condition(const Word& word);
std::string unknown_option(const Word& word);

}  // namespace minke::cli
