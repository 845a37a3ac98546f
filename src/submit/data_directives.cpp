#include "submit/data_directives.h"

#include "submit/script.h"
#include "text/number.h"

namespace minke::submit {

Result<DataDirectives> read_data_directives(std::string_view script) {
  static constexpr std::string_view kMagic = "#MINKE";
  DataDirectives out;
  for (uint32_t number = 1; !script.empty(); ++number) {
    const size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script = end == std::string_view::npos ? std::string_view() : script.substr(end + 1);
    const std::string_view content = text::trim(line);
    if (!content.empty() && content[0] != '#') break;  // the first command
    if (!line.starts_with(kMagic)) continue;
    const std::string_view rest = line.substr(kMagic.size());
    if (!rest.empty() && rest[0] != ' ' && rest[0] != '\t') continue;  // "#MINKES…", a comment
    const auto refuse = [&](const std::string& why) {
      return failure("Invalid directive found in batch script: line " + std::to_string(number) + ": " + why,
                     255);
    };
    const auto words = split_directive(rest);
    if (!words) return refuse(words.error().message);
    for (const std::string& word : *words) {
      const size_t equals = word.find('=');
      const std::string key = word.substr(0, equals);
      if (key != "stage" && key != "collect")
        return refuse(word + ": #MINKE knows stage=SOURCE and collect=DIRECTORY");
      const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
      if (value.empty()) return refuse(key + "= needs a path");
      (key == "stage" ? out.stage : out.collect).push_back(value);
    }
  }
  return out;
}

}  // namespace minke::submit
