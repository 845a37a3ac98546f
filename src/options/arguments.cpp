#include "options/arguments.h"

#include <algorithm>

namespace minke::options {
namespace {

class Reader {
 public:
  Reader(std::span<const Option> options, std::span<const std::string> words, Order order)
      : options_(options), words_(words), order_(order) {}

  Arguments read() {
    while (next_ < words_.size() && out_.problem.empty()) {
      const std::string& word = words_[next_++];
      if (word == "--") break;
      if (word.size() > 1 && word[0] == '-') {
        word[1] == '-' ? take_name(std::string_view(word).substr(2)) : take_letters(word);
      } else {
        out_.operands.push_back(word);
        if (order_ == Order::kFirst) break;
      }
    }
    if (out_.problem.empty()) {
      for (; next_ < words_.size(); ++next_) out_.operands.push_back(words_[next_]);
    }
    return std::move(out_);
  }

 private:
  // "name" or "name=value".
  void take_name(std::string_view whole) {
    const size_t equals = whole.find('=');
    const std::optional<size_t> index = find_name(whole.substr(0, equals), whole);
    if (!index) return;
    const Option& option = options_[*index];
    const std::string shown = "option '--" + std::string(option.name) + "' ";
    std::optional<std::string> value;
    if (equals != std::string_view::npos) {
      if (option.argument == ArgumentKind::kNone) {
        out_.problem = shown + "doesn't allow an argument";
        return;
      }
      value = whole.substr(equals + 1);
    } else if (option.argument == ArgumentKind::kRequired) {
      if (next_ == words_.size()) {
        out_.problem = shown + "requires an argument";
        return;
      }
      value = words_[next_++];
    }
    out_.settings.push_back({*index, std::move(value)});
  }

  // The option of this name, or else the one that the name begins: an older one, where it begins any.
  std::optional<size_t> find_name(std::string_view name, std::string_view whole) {
    std::vector<size_t> begun;
    for (size_t i = 0; i < options_.size(); ++i) {
      if (options_[i].name.empty() || !options_[i].name.starts_with(name)) continue;
      if (options_[i].name == name) return i;
      begun.push_back(i);
    }
    const auto is_later = [this](size_t index) { return options_[index].later; };
    if (!std::all_of(begun.begin(), begun.end(), is_later)) std::erase_if(begun, is_later);
    const std::string shown = "option '--" + std::string(whole) + "'";
    if (begun.empty()) {
      out_.problem = "unrecognized " + shown;
      return std::nullopt;
    }
    const Option& first = options_[begun[0]];
    std::string others;
    for (const size_t index : begun) {
      const Option& option = options_[index];
      if (option.argument != first.argument || option.meaning != first.meaning)
        others.append(" '--").append(option.name).append("'");
    }
    if (others.empty()) return begun[0];
    out_.problem = shown + " is ambiguous; possibilities: '--" + std::string(first.name) + "'" + others;
    return std::nullopt;
  }

  // "-abc": letters together; the last one may have its argument behind it.
  void take_letters(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const std::optional<size_t> index = find_letter(word[i]);
      if (!index) {
        out_.problem = std::string("invalid option -- '") + word[i] + "'";
        return;
      }
      const ArgumentKind argument = options_[*index].argument;
      std::optional<std::string> value;
      const bool takes_rest = argument != ArgumentKind::kNone && i + 1 < word.size();
      if (takes_rest) {
        value = word.substr(i + 1);
      } else if (argument == ArgumentKind::kRequired) {
        if (next_ == words_.size()) {
          out_.problem = std::string("option requires an argument -- '") + word[i] + "'";
          return;
        }
        value = words_[next_++];
      }
      out_.settings.push_back({*index, std::move(value)});
      if (takes_rest) return;
    }
  }

  std::optional<size_t> find_letter(char letter) const {
    for (size_t i = 0; i < options_.size(); ++i)
      if (options_[i].letter == letter) return i;
    return std::nullopt;
  }

  std::span<const Option> options_;
  std::span<const std::string> words_;
  Order order_;
  size_t next_ = 0;
  Arguments out_;
};

}  // namespace

Arguments read_arguments(std::span<const Option> options, std::span<const std::string> words, Order order) {
  return Reader(options, words, order).read();
}

}  // namespace minke::options
