#include "submit/environment.h"

#include <unordered_map>
#include <vector>

#include "text/number.h"

namespace minke::submit {
namespace {

bool always_exported(std::string_view entry) {
  return entry.starts_with("SLURM_") || entry.starts_with("SPANK_");
}

std::vector<std::string_view> words_outside_quotes(std::string_view text) {
  std::vector<std::string_view> words;
  size_t start = 0;
  char quote = '\0';
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      char c = text[i];
      if (quote != '\0') {
        if (c == quote) quote = '\0';
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      if (c != ',') continue;
    }
    if (i > start) words.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return words;
}

// Entries by name; setting one again keeps its place.
class Block {
 public:
  void add(std::string_view entry) {
    std::string_view name = entry.substr(0, entry.find('='));
    auto [position, is_new] = positions_.try_emplace(name, entries_.size());
    if (is_new) {
      entries_.push_back(entry);
    } else {
      entries_[position->second] = entry;
    }
  }
  std::string text() const {
    std::string out;
    for (std::string_view entry : entries_) out.append(entry).append(1, '\0');
    return out;
  }

 private:
  std::vector<std::string_view> entries_;
  std::unordered_map<std::string_view, size_t> positions_;
};

}  // namespace

std::string export_environment(std::span<const std::string> environment, std::string_view export_option) {
  Block block;
  auto add_matching = [&](auto&& matches) {
    for (const std::string& entry : environment) {
      if (matches(std::string_view(entry))) block.add(entry);
    }
  };
  auto everything = [](std::string_view) { return true; };
  if (export_option.empty()) {
    add_matching(everything);
    return block.text();
  }
  for (std::string_view word : words_outside_quotes(export_option)) {
    if (text::equals_ignoring_case(word, "all")) {
      add_matching(everything);
    } else if (text::equals_ignoring_case(word, "none") || text::equals_ignoring_case(word, "nil")) {
      continue;
    } else if (word.find('=') != std::string_view::npos) {
      if (word[0] != '=') block.add(word);
    } else {
      add_matching([&](std::string_view entry) {
        return entry.size() > word.size() && entry[word.size()] == '=' && entry.starts_with(word);
      });
    }
  }
  add_matching(always_exported);
  return block.text();
}

bool export_needs_user_env(std::string_view export_option) {
  return !export_option.empty() && !text::equals_ignoring_case(export_option, "all") &&
         !text::equals_ignoring_case(export_option, "nil");
}

Result<std::string> read_export_file(std::string_view content) {
  char separator = content.find('\0') != std::string_view::npos ? '\0' : '\n';
  std::string out;
  for (std::string_view entry : text::split(content, separator)) {
    if (entry.empty()) continue;
    if (entry.find('=') == std::string_view::npos || entry[0] == '=') {
      return failure("export file: not of the form NAME=value: " + std::string(entry.substr(0, 80)));
    }
    out.append(entry).append(1, '\0');
  }
  return out;
}

}  // namespace minke::submit
