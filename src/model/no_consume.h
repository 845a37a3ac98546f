// GRES that jobs do not use up: a node that offers "nic:no_consume:2" lets every job have up to 2 of them. As
// in Slurm, the word stands where a type would, or behind one: "bandwidth:lustre:no_consume:4096". Any
// thread.
#pragma once

#include <string_view>

namespace minke::model {

constexpr std::string_view kNoConsume = "no_consume";
constexpr std::string_view kTypeNoConsume = ":no_consume";

// Of the type as a node offers it.
constexpr bool is_not_consumed(std::string_view type) {
  return type == kNoConsume || type.ends_with(kTypeNoConsume);
}
// The type that jobs ask for.
constexpr std::string_view type_of(std::string_view type) {
  if (type == kNoConsume) return {};
  return type.ends_with(kTypeNoConsume) ? type.substr(0, type.size() - kTypeNoConsume.size()) : type;
}

}  // namespace minke::model
