#include "text/catalogue.h"

#include "text/number.h"

namespace minke::text {
namespace {

// What stands between the quotes of a line, with C's escapes of \n, \t, \" and \\.
std::string unquoted(std::string_view line) {
  const size_t begin = line.find('"'), end = line.rfind('"');
  std::string out;
  if (begin == std::string_view::npos || end == begin) return out;
  const std::string_view inside = line.substr(begin + 1, end - begin - 1);
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 == inside.size()) {
      out += inside[i];
      continue;
    }
    const char c = inside[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return out;
}

struct Entry {
  std::string english, text[2];
  bool fuzzy = false;
};

}  // namespace

Catalogue::Catalogue(std::string_view po) {
  Entry entry;
  std::string ignored;
  std::string* current = &ignored;
  const auto keep = [&] {
    if (!entry.english.empty() && !entry.fuzzy && !entry.text[0].empty())
      texts_[entry.english] = Forms{{entry.text[0], entry.text[1]}};
    entry = {};
    current = &ignored;
  };
  for (const std::string_view line : split(po, '\n')) {
    if (line.empty()) {
      keep();
    } else if (line.starts_with("#,") && line.find("fuzzy") != std::string_view::npos) {
      entry.fuzzy = true;
    } else if (line.front() == '#') {
      continue;
    } else if (line.front() != '"') {
      current = line.starts_with("msgid ")      ? &entry.english
                : line.starts_with("msgstr[1]") ? &entry.text[1]
                : line.starts_with("msgstr")    ? &entry.text[0]
                                                : &ignored;  // msgid_plural
      current->append(unquoted(line));
    } else {
      current->append(unquoted(line));
    }
  }
  keep();
}

std::string_view Catalogue::find(std::string_view english, size_t form) const {
  const auto found = texts_.find(english);
  return found == texts_.end() ? std::string_view() : std::string_view(found->second.text[form == 0 ? 0 : 1]);
}

}  // namespace minke::text
