#include "submit/script.h"

#include <algorithm>
#include <cstdio>

#include "text/number.h"

namespace minke::submit {
namespace {

constexpr int kFailureStatus = 1;
constexpr std::string_view kMagic = "#SBATCH", kOldMagic = "#SLURM";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\n';
}

}  // namespace

// U+2010 to U+2015 and U+2212, which word processors and web pages put in place of a hyphen.
std::string_view leading_unicode_dash(std::string_view word) {
  if (word.size() < 3 || word[0] != '\xe2') return {};
  bool general = word[1] == '\x80' && word[2] >= '\x90' && word[2] <= '\x95';
  bool minus = word[1] == '\x88' && word[2] == '\x92';
  return general || minus ? word.substr(0, 3) : std::string_view();
}

Result<std::vector<std::string>> split_directive(std::string_view text, int release) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  auto end_word = [&] {
    if (in_word) words.push_back(std::move(word));
    word.clear();
    in_word = false;
  };
  const auto failed = [&](std::string problem, size_t from) {
    return failure(
        std::move(problem.append(" in [").append(text.substr(std::min(from, text.size()))).append("]")),
        kFailureStatus);
  };
  // The position after the last whole word.
  size_t rest = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_space) - text.begin());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else if (c == '\\' && quote == '"' && i + 1 < text.size()) {
        word += text[++i];
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (is_space(c)) {
      if (in_word) rest = i;
      end_word();
    } else if (c == '#') {
      break;
    } else if (c == ':' && !in_word) {  // separates components on a command line only
      return failed("Unexpected `:`", rest);
    } else if (c == '\\') {
      if (i + 1 < text.size() && (release >= kSlurm24 || !is_space(text[i + 1]))) {
        word += text[++i];
        in_word = true;
      }
    } else {
      word += c;
      in_word = true;
    }
  }
  end_word();
  if (quote == '\0') return words;
  return failed(std::string("Unmatched `") + quote + "`", rest);
}

Status check_script(std::string_view script) {
  auto refuse = [](std::string message) -> Status { return failure(std::move(message), kFailureStatus); };
  if (script.empty()) return refuse("Batch script is empty!");
  bool blank = true;
  for (char c : script) blank = blank && is_space(c);
  if (blank) return refuse("Batch script contains only whitespace!");
  if (!script.starts_with("#!")) {
    return refuse(
        "This does not look like a batch script.  The first\n"
        "line must start with #! followed by the path to an interpreter.\n"
        "For instance: #!/bin/sh");
  }
  if (script.find('\0') != std::string_view::npos) {
    return refuse("The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'.");
  }
  if (script.find("\r\n") != std::string_view::npos) {
    return refuse(
        "Batch script contains DOS line breaks (\\r\\n)\n"
        "instead of expected UNIX line breaks (\\n).");
  }
  if (script.size() > kMaxScriptBytes) {
    return refuse(
        "Batch job submission failed: Pathname of a file, directory or other parameter too long\nthe script "
        "has " +
        std::to_string(script.size()) + " bytes, at most " + std::to_string(kMaxScriptBytes) +
        " are allowed");
  }
  return {};
}

Result<ScriptOptions> scan_script(std::string_view script, std::string_view name, int release) {
  ScriptOptions out;
  out.components.emplace_back();
  uint32_t number = 0;
  while (!script.empty()) {
    size_t end = script.find('\n');
    std::string_view line = script.substr(0, end);
    script = end == std::string_view::npos ? std::string_view() : script.substr(end + 1);
    ++number;
    std::string_view content = text::trim(line);
    if (!content.empty() && content[0] != '#') break;  // the first command
    const bool old = line.starts_with(kOldMagic);
    if (old) {
      out.notes.emplace_back(
          "error: Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch");
    } else if (!line.starts_with(kMagic)) {
      continue;
    }
    std::string_view directive = line.substr((old ? kOldMagic : kMagic).size());
    std::string_view wanted = text::trim(directive);
    bool packjob = text::starts_with_ignoring_case(wanted, "packjob");
    if (packjob || text::starts_with_ignoring_case(wanted, "hetjob")) {
      out.has_packjob = out.has_packjob || packjob;
      out.components.emplace_back();
      continue;
    }
    auto words = split_directive(directive, release);
    if (!words) {
      std::string message = "fatal: " + std::string(name);
      message.append(": line ").append(std::to_string(number)).append(": ").append(words.error().message);
      return failure(std::move(message), kFailureStatus);
    }
    for (std::string& word : *words) {
      if (word.empty()) break;  // it ends the line
      if (std::string_view dash = leading_unicode_dash(word); !dash.empty()) {
        std::string message =
            "Invalid directive found in batch script: " + word + "\nline " + std::to_string(number);
        message.append(": \"").append(dash).append(
            "\" is not the \"-\" of the keyboard; type the option anew");
        return failure(std::move(message), 255);
      }
      out.components.back().push_back({std::move(word), number});
    }
  }
  return out;
}

std::string wrap_script(std::string_view command) {
  return std::string("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n")
      .append(command)
      .append("\n");
}

}  // namespace minke::submit
