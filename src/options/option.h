// An option of a command, and a command as its user knows it: the source of the reader of command lines,
// --help, the manual page and the completion of shells.
//
// A command has one table of rows. A row is an option and the function that takes its value. The functions
// belong to the command; everything else here is pure data and may be used from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/list.h"

namespace minke::options {

enum class ArgumentKind { kNone, kRequired, kOptional };

struct Option {
  std::string_view name = {};  // empty: there is only the letter
  char letter = '\0';          // '\0': there is only the name
  ArgumentKind argument = ArgumentKind::kNone;
  std::string_view argument_name = {};
  // One line. Empty: the option is read, but neither shown nor offered: another name of an option, or one
  // that has no meaning for one cluster.
  std::string_view help = {};
  // What a shell offers as the value: words; "FILE"; "DIRECTORY"; or, after "$", a command that lists them.
  std::string_view values = {};
  std::string_view environment = {};  // a variable that gives the option, with its value
  // Options of one meaning do the same: an abbreviation of several of them is not ambiguous.
  // options_of() sets it.
  size_t meaning = 0;
  // It came after most scripts had been written: what abbreviates but one older option goes on to mean that.
  bool later = false;
};

// A command as --help, --usage, its manual page and the completion show it.
struct Command {
  std::string_view name = {};
  std::string_view purpose = {};         // one line, for the manual page
  std::string_view operands = {};        // behind the options: "SOURCE DEST"
  std::string_view operand_values = {};  // as Option::values
  std::string_view usage = {};           // what --usage prints
  std::string_view commands = {};        // what --help prints about commands behind the options; "" for most
  bool hints_at_help = true;             // the error for a wrong option includes "Try … --help"
  // Variables count only if the command line says nothing: their functions run after it, and check.
  bool environment_last = false;
  std::vector<Option> options = {};
};

// One option as it was given.
struct Given {
  const Command& command;
  const Option& option;
  std::optional<std::string> value;
  bool from_environment = false;
  const std::string& text() const { return *value; }  // if the option requires one, and in the environment
};

// Stores the value in the command's request. A result ends the command with this exit status; the
// function has printed why.
template <typename Target>
using Setter = std::optional<int> (*)(Target&, const Given&);

template <typename Target>
struct Row {
  Option option;
  Setter<Target> take;
};

template <typename Target>
std::vector<Option> options_of(std::span<const Row<Target>> rows) {
  std::vector<Option> options;
  for (const Row<Target>& row : rows) {
    Option& option = options.emplace_back(row.option);
    while (rows[option.meaning].take != row.take) ++option.meaning;
  }
  return options;
}

// A command with its rows, in the order of --help and of lists of ambiguities.
template <typename Target>
struct Table {
  Table(Command described, std::span<const Row<Target>> all) : command(std::move(described)), rows(all) {
    command.options = options_of(rows);
  }
  Command command;
  std::span<const Row<Target>> rows;
};

// The usual setters. Each names the member that it sets, or the path to it:
// flag<&Asked::question, &Question::all>. `Take` is called with the member and the given value;
// its result, if any, is the row's.
template <typename Take, auto... kMembers>
struct MemberSetter {
  template <typename Target>
  static std::optional<int> take(Target& target, const Given& given) {
    if constexpr (std::is_void_v<decltype(Take()((target.*....*kMembers), given))>) {
      Take()((target.*....*kMembers), given);
      return std::nullopt;
    } else {
      return Take()((target.*....*kMembers), given);
    }
  }
  template <typename Target>
  constexpr operator Setter<Target>() const {
    return &take<Target>;
  }
};

struct SetTrue {
  void operator()(bool& member, const Given&) const { member = true; }
};
struct Count {
  void operator()(auto& member, const Given&) const { ++member; }
};
struct Keep {
  void operator()(auto& member, const Given& given) const { member = given.text(); }
};
struct Split {
  void operator()(std::vector<std::string>& member, const Given& given) const {
    member = text::split_list(given.text());
  }
};
template <auto kValue>
struct SetTo {
  void operator()(auto& member, const Given&) const { member = kValue; }
};

template <auto... kMembers>
constexpr MemberSetter<SetTrue, kMembers...> flag;
template <auto... kMembers>
constexpr MemberSetter<Count, kMembers...> count;
template <auto... kMembers>  // the value unchanged
constexpr MemberSetter<Keep, kMembers...> keep;
template <auto... kMembers>  // the words between its commas
constexpr MemberSetter<Split, kMembers...> list;
template <auto kValue, auto... kMembers>
constexpr MemberSetter<SetTo<kValue>, kMembers...> set_to;

// For options without effect here. Another number is another meaning: such names stay ambiguous.
template <typename Target, int kMeaning = 0>
std::optional<int> ignored(Target&, const Given&) {
  return std::nullopt;
}

}  // namespace minke::options
