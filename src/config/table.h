// Reads one table of the configuration file, key by key. It includes the parser's heavy header:
// for config*.cpp only.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "config/toml.h"
#include "text/duration.h"
#include "text/memory.h"

namespace minke::config {

// Reads the keys of one table, and remembers which ones were asked for: any other key is reported as the
// user's mistake. The first error stays.
class Table {
 public:
  Table(const toml::table& table, std::string path, std::string what)
      : table_(table), path_(std::move(path)), what_(std::move(what)) {}

  void text(std::string_view key, const std::function<Status(const std::string&)>& use) {
    if (const toml::node* node = take(key)) {
      const auto value = node->value_exact<std::string>();
      if (!value) return fail(*node, key, "must be text in quotes");
      if (const Status used = use(*value); !used) fail(*node, key, used.error().message);
    }
  }
  void text(std::string_view key, std::string& value) {
    text(key, [&](const std::string& given) -> Status {
      value = given;
      return {};
    });
  }
  template <typename Set>
  void number(std::string_view key, int64_t least, int64_t most, Set set) {
    if (const toml::node* node = take(key)) {
      const auto value = node->value_exact<int64_t>();
      if (!value || *value < least || *value > most) {
        return fail(*node, key,
                    "must be a number from " + std::to_string(least) + " to " + std::to_string(most));
      }
      set(*value);
    }
  }
  // A number with or without a fraction.
  template <typename Set>
  void real(std::string_view key, double least, double most, Set set) {
    if (const toml::node* node = take(key)) {
      const auto value = node->value<double>();
      if (!value || !node->is_number() || !(*value >= least && *value <= most))
        return fail(*node, key, "must be a number of at least " + std::to_string(least));
      set(*value);
    }
  }
  template <typename Set>
  void boolean(std::string_view key, Set set) {
    if (const toml::node* node = take(key)) {
      const auto value = node->value_exact<bool>();
      if (!value) return fail(*node, key, "must be true or false");
      set(*value);
    }
  }
  // One text, or a list of texts.
  void texts(std::string_view key, const std::function<Status(const std::string&)>& use) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto one = [&](const toml::node& item) {
      const auto value = item.value_exact<std::string>();
      if (!value) return fail(item, key, "must be text in quotes, or a list of such");
      if (const Status used = use(*value); !used) fail(item, key, used.error().message);
    };
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& item : *list) one(item);
    } else {
      one(*node);
    }
  }
  // One number, or a list of numbers.
  template <typename Use>
  void numbers(std::string_view key, int64_t least, int64_t most, Use use) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto one = [&](const toml::node& item) {
      const auto value = item.value_exact<int64_t>();
      if (!value || *value < least || *value > most) {
        return fail(item, key,
                    "must be numbers from " + std::to_string(least) + " to " + std::to_string(most));
      }
      use(*value);
    };
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& item : *list) one(item);
    } else {
      one(*node);
    }
  }
  // A length of time: minutes, or Slurm's forms.
  void minutes(std::string_view key, const std::function<void(uint32_t)>& set) {
    if (const toml::node* node = table_.get(key); node != nullptr && node->is_integer()) {
      return number(key, 1, 0xfffffffe, [&](int64_t value) { set(static_cast<uint32_t>(value)); });
    }
    text(key, [&](const std::string& given) -> Status {
      const auto value = minke::text::parse_minutes(given);
      if (!value) return failure(value.error());
      set(*value);
      return {};
    });
  }
  void mib(std::string_view key, const std::function<void(uint64_t)>& set) {
    if (const toml::node* node = table_.get(key); node != nullptr && node->is_integer()) {
      return number(key, 0, int64_t{1} << 50, [&](int64_t value) { set(static_cast<uint64_t>(value)); });
    }
    text(key, [&](const std::string& given) -> Status {
      const auto value = minke::text::parse_mib(given);
      if (!value) return failure(value.error());
      set(*value);
      return {};
    });
  }
  // Reads [key] with names that the user chooses, and a number of at least 0 for each.
  void section(std::string_view key, const std::function<void(const std::string&, int64_t)>& set) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::table* section = node->as_table();
    if (section == nullptr) return fail(*node, key, "must be written as [" + std::string(key) + "]");
    for (const auto& [name, value] : *section) {
      const auto count = value.value_exact<int64_t>();
      if (!count || *count < 0 || *count > 1 << 20)
        return fail(value, name.str(), "must be a number from 0 to 1048576");
      if (name.str().find_first_of(",:;=* \t|") != std::string_view::npos)
        return fail(value, name.str(), "cannot be a license's name");
      set(std::string(name.str()), *count);
    }
  }
  // Reads [key] with keys of its own.
  void sub_table(std::string_view key, const std::function<void(Table&)>& read) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::table* section = node->as_table();
    if (section == nullptr) return fail(*node, key, "must be written as [" + std::string(key) + "]");
    Table inner(*section, path_, "[" + std::string(key) + "]");
    read(inner);
    if (const Status finished = inner.finish(); !finished && outcome_) outcome_ = finished;
  }
  const toml::array* tables(std::string_view key) {
    const toml::node* node = take(key);
    if (node == nullptr) return nullptr;
    const toml::array* list = node->as_array();
    if (list == nullptr || !list->is_homogeneous(toml::node_type::table)) {
      fail(*node, key, "must be written as [[" + std::string(key) + "]]");
      return nullptr;
    }
    return list;
  }
  // Call it last: it reports keys that nobody asked for.
  Status finish() {
    for (const auto& [key, node] : table_) {
      if (!taken_.contains(std::string(key.str()))) fail(node, key.str(), "is not known in " + what_);
    }
    return outcome_;
  }
  void fail(const toml::node& node, std::string_view key, const std::string& problem) {
    if (!outcome_) return;
    outcome_ = failure(path_ + ":" + std::to_string(node.source().begin.line) + ": " + std::string(key) +
                       " " + problem);
  }
  const toml::table& table() const { return table_; }

 private:
  const toml::node* take(std::string_view key) {
    taken_.emplace(key);
    return table_.get(key);
  }

  const toml::table& table_;
  std::string path_, what_;
  std::set<std::string> taken_;
  Status outcome_;
};

}  // namespace minke::config
