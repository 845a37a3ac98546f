// Reads the words of scontrol show assoc_mgr.
#include "cli/scontrol/show_limits.h"
#include "text/number.h"

namespace minke::cli {

Result<LimitsWanted> parse_limits_wanted(std::span<const std::string> words) {
  LimitsWanted wanted;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == word.size())
      return failure("No value given for option " + name);
    std::vector<std::string> values;
    for (const std::string_view value : text::split(std::string_view(word).substr(equals + 1), ','))
      if (!value.empty()) values.emplace_back(value);
    const auto is = [&](std::string_view option, size_t enough) {
      return name.size() >= enough && text::starts_with_ignoring_case(option, name);
    };
    if (is("accounts", 1)) {
      wanted.accounts = values;
    } else if (is("users", 1)) {
      wanted.user_names = values;
    } else if (is("qos", 1)) {
      wanted.qos_names = values;
    } else if (is("flags", 1)) {
      wanted.users = wanted.associations = wanted.qos = false;
      for (const std::string& value : values) {
        const auto flag = [&](std::string_view known) {
          return text::starts_with_ignoring_case(known, value);
        };
        if (flag("users")) {
          wanted.users = true;
        } else if (flag("assoc")) {
          wanted.associations = true;
        } else if (flag("qos")) {
          wanted.qos = true;
        } else {
          return failure("invalid flag '" + value + "', valid options are 'Assoc, QOS, and/or Users'");
        }
      }
    } else {
      return failure("invalid entity: " + word + " for keyword:show assoc_mgr");
    }
  }
  return wanted;
}

}  // namespace minke::cli
