#include "text/translate.h"

#include <optional>
#include <vector>

#include "text/catalogue.h"
#include "text/number.h"

// The catalogue, as translators have it (CMakeLists.txt). Tools that only look at the source have none.
#ifndef MINKE_FRENCH
#define MINKE_FRENCH "/dev/null"
#endif
__asm__(
    ".pushsection .rodata\n"
    ".global minke_text_french\n"
    "minke_text_french:\n"
    ".incbin \"" MINKE_FRENCH
    "\"\n"
    ".global minke_text_french_end\n"
    "minke_text_french_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char minke_text_french[], minke_text_french_end[];

namespace minke::text {
namespace {

const Catalogue* spoken = nullptr;  // English

// Values in place of "{}" and "{0}"; more braces than values are left as they are.
std::string filled(std::string_view pattern, std::initializer_list<std::string_view> values) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    const bool plain = rest.starts_with("{}");
    const bool numbered = rest.size() > 2 && rest[0] == '{' && is_digit(rest[1]) && rest[2] == '}';
    const size_t which = plain ? next : numbered ? static_cast<size_t>(rest[1] - '0') : values.size();
    if (which >= values.size()) {
      out += pattern[i];
      continue;
    }
    if (plain) ++next;
    out += std::data(values)[which];
    i += plain ? 1 : 2;
  }
  return out;
}

}  // namespace

std::string_view language_of(std::string_view language, std::string_view spoken) {
  if (spoken.empty() || spoken.starts_with("C.") || spoken == "C" || spoken == "POSIX") return {};
  // As gettext: LANGUAGE is a list of preferences, and counts only where a language is spoken at all.
  for (const std::string_view one : split(language.empty() ? spoken : language, ':')) {
    const std::string_view word = one.substr(0, one.find_first_of("_.@"));
    if (word == "fr") return "fr";
    if (word == "en") return {};
  }
  return {};
}

void speak(std::string_view language) {
  static std::optional<Catalogue> french;
  if (language != "fr") {
    spoken = nullptr;
    return;
  }
  if (!french)
    french.emplace(
        std::string_view(minke_text_french, static_cast<size_t>(minke_text_french_end - minke_text_french)));
  spoken = &*french;
}

std::string tr(std::string_view english) {
  const std::string_view found = spoken == nullptr ? std::string_view() : spoken->find(english);
  return std::string(found.empty() ? english : found);
}

std::string tr(std::string_view english, std::initializer_list<std::string_view> values) {
  return filled(tr(english), values);
}

std::string tr_count(std::string_view one, std::string_view many, uint64_t count) {
  const std::string number = std::to_string(count);
  const std::string_view found =
      spoken == nullptr ? std::string_view() : spoken->find(one, count > 1 ? 1 : 0);
  return filled(!found.empty() ? found : count == 1 ? one : many, {number});
}

InEnglish::InEnglish() : before_(spoken) {
  spoken = nullptr;
}

InEnglish::~InEnglish() {
  spoken = before_;
}

}  // namespace minke::text
