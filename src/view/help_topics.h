// minke help: what the program does, by what people want to do, and a page for each of these topics. Pure;
// any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace minke::view {

struct HelpTopic {
  std::string_view name;   // "submit"
  std::string_view title;  // one line
  std::string_view text;   // lines; "$ " begins an example
  std::string_view words;  // other words that people look for it by, separated by spaces
};

std::span<const HelpTopic> help_topics();
// By its name, or another word for it; nullptr: there is none.
const HelpTopic* find_help_topic(std::string_view word);

// The list of topics; one topic.
std::string help_overview();
std::string help_page(const HelpTopic& topic);

// The command that people mean by a word of other programs: "ps" is "minke jobs", "kill" is "scancel JOB".
// Empty: nothing is known.
std::string_view command_meant_by(std::string_view word);

}  // namespace minke::view
