#include "view/script_commands.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "text/number.h"

namespace minke::view {
namespace {

constexpr size_t kMostScript = 1 << 20, kMostCommands = 20000, kMostWords = 200, kMostModules = 200;

bool is_keyword(std::string_view word) {
  static constexpr std::array<std::string_view, 13> kKeywords = {
      "if", "then", "elif", "else", "while", "until", "do", "!", "{", "(", "time", "exec", "nohup"};
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
}

bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || text::is_digit(word[0])) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<ptrdiff_t>(equals),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

// Takes one character after the other.
class Reader {
 public:
  std::vector<ScriptCommand> read(std::string_view script) {
    for (at_ = 0; at_ < script.size() && commands_.size() < kMostCommands; ++at_) take(script);
    end_command();
    return std::move(commands_);
  }

 private:
  void take(std::string_view script) {
    const char c = script[at_], next = at_ + 1 < script.size() ? script[at_ + 1] : '\0';
    if (quote_ != '\0') return take_quoted(c, next);
    switch (c) {
      case '\'':
      case '"':
        quote_ = c;
        has_word_ = true;
        return;
      case '\\':
        if (next == '\n')
          ++line_;
        else if (next != '\0')
          add(next);
        ++at_;
        return;
      case '#':
        if (has_word_) return add(c);
        at_ = std::min(script.find('\n', at_), script.size()) - 1;
        return;
      case '\n':
        end_command();
        ++line_;
        if (!document_end_.empty()) skip_document(script);
        return;
      case '&':
        if (next == '>') return end_word();  // &>file
        return end_command();
      case '>':
        return redirect(script);
      case ';':
      case '|':
        return end_command();
      case '<':
        return next == '<' ? begin_document(script) : redirect(script);
      case ' ':
      case '\t':
      case '\r':
        return end_word();
      default:
        add(c);
    }
  }

  void take_quoted(char c, char next) {
    if (c == '\n') ++line_;
    if (c == quote_) {
      quote_ = '\0';
    } else if (quote_ == '"' && c == '\\' && (next == '"' || next == '\\' || next == '\n')) {
      if (next == '\n')
        ++line_;
      else
        add(next);
      ++at_;
    } else {
      add(c);
    }
  }

  void add(char c) {
    if (words_.empty() && word_.empty()) first_line_ = line_;
    word_ += c;
    has_word_ = true;
  }

  // What stands behind > or < is no word of the command, nor is the number before it.
  void redirect(std::string_view script) {
    if (text::parse_unsigned(word_)) {
      word_.clear();
      has_word_ = false;
    }
    end_word();
    while (at_ + 1 < script.size() && std::string_view(">&|").find(script[at_ + 1]) != std::string_view::npos)
      ++at_;
    skips_word_ = true;
  }

  void end_word() {
    if (!has_word_) return;
    if (std::exchange(skips_word_, false)) {
      word_.clear();
      has_word_ = false;
      return;
    }
    const bool precedes = words_.empty() && (is_keyword(word_) || is_assignment(word_));
    if (!precedes && words_.size() < kMostWords) words_.push_back(std::move(word_));
    word_.clear();
    has_word_ = false;
  }

  void end_command() {
    end_word();
    skips_word_ = false;
    if (!words_.empty()) commands_.push_back({first_line_, std::move(words_)});
    words_.clear();
  }

  // "<<EOF", "<<-'EOF'"; "<<<" is none.
  void begin_document(std::string_view script) {
    end_word();
    size_t from = at_ + 2;
    if (from < script.size() && script[from] == '<') {
      at_ = from;
      skips_word_ = true;
      return;
    }
    while (from < script.size() && (script[from] == '-' || script[from] == ' ')) ++from;
    std::string end;
    for (; from < script.size() && std::string_view(" \t\n;&|").find(script[from]) == std::string_view::npos;
         ++from)
      if (script[from] != '\'' && script[from] != '"' && script[from] != '\\') end += script[from];
    document_end_ = end;
    at_ = from - 1;
  }

  void skip_document(std::string_view script) {
    size_t from = at_ + 1;
    while (from < script.size()) {
      const size_t end = std::min(script.find('\n', from), script.size());
      const bool is_last = text::trim(script.substr(from, end - from)) == document_end_;
      from = end + 1;
      ++line_;
      if (is_last) break;
    }
    at_ = std::min(from, script.size()) - 1;
    document_end_.clear();
  }

  size_t at_ = 0, line_ = 1, first_line_ = 1;
  char quote_ = '\0';
  std::string word_, document_end_;
  bool has_word_ = false, skips_word_ = false;
  std::vector<std::string> words_;
  std::vector<ScriptCommand> commands_;
};

// Where the names begin that a command loads; 0: it loads none.
size_t first_loaded(const std::vector<std::string>& words) {
  const bool is_short = words[0] == "ml";
  if (!is_short && words[0] != "module") return 0;
  size_t at = 1;
  while (at < words.size() && words[at].starts_with('-')) {
    if (is_short && words[at].size() > 1 && words[at][1] != '-') return 0;  // ml -name takes it away
    ++at;
  }
  if (at == words.size()) return 0;
  const std::string& verb = words[at];
  if (verb == "load" || verb == "add" || verb == "try-load") return at + 1;
  static constexpr std::array<std::string_view, 16> kOtherVerbs = {
      "unload", "purge", "list",  "avail", "spider",  "show", "swap",   "switch",
      "use",    "unuse", "reset", "save",  "restore", "help", "whatis", "del"};
  const bool is_other = std::find(kOtherVerbs.begin(), kOtherVerbs.end(), verb) != kOtherVerbs.end();
  return is_short && !is_other ? at : 0;
}

}  // namespace

std::vector<ScriptCommand> script_commands(std::string_view script) {
  return script.size() > kMostScript ? std::vector<ScriptCommand>() : Reader().read(script);
}

std::vector<LoadedModule> modules_loaded(const std::vector<ScriptCommand>& commands) {
  std::vector<LoadedModule> all;
  for (const ScriptCommand& command : commands) {
    const size_t first = first_loaded(command.words);
    for (size_t at = first; first != 0 && at < command.words.size(); ++at) {
      const std::string& word = command.words[at];
      if (word.empty() || word[0] == '-' || all.size() == kMostModules) continue;
      const size_t slash = word.find('/');
      LoadedModule one{word.substr(0, slash), slash == std::string::npos ? "" : word.substr(slash + 1),
                       command.line};
      const bool is_known = std::any_of(all.begin(), all.end(), [&](const LoadedModule& other) {
        return other.name == one.name && other.version == one.version;
      });
      if (!is_known) all.push_back(std::move(one));
    }
  }
  return all;
}

std::string_view program_name(std::string_view word) {
  return word.substr(word.rfind('/') + 1);
}

bool is_launched(const ScriptCommand& command, size_t place) {
  static constexpr std::array<std::string_view, 5> kLaunchers = {"srun", "mpirun", "mpiexec", "orterun",
                                                                 "prun"};
  for (size_t at = 0; at < std::min(place, command.words.size()); ++at) {
    const std::string_view name = program_name(command.words[at]);
    if (std::find(kLaunchers.begin(), kLaunchers.end(), name.substr(0, name.find('.'))) != kLaunchers.end())
      return true;
  }
  return false;
}

}  // namespace minke::view
