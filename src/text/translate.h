// The language in which Minke's own commands speak to a person.
//
// The source has the English text, and the catalogue of a language (po/fr.po) has the other by it, as with
// gettext: xgettext, Poedit and other tools of translators read the marks and the files. The catalogue is
// part of the program, for that is one file and may lie anywhere; libintl would look for files beside it.
//
// Only what people read on a terminal is marked. English stay: what programs read (tables and messages of
// Slurm's commands, JSON), the log, and what a daemon answers. What has no translation is said in English.
//
// The language is this process's: main() sets it once, before there are threads. Nothing else is kept here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace minke::text {

class Catalogue;

// Reads the values of LANGUAGE, LC_ALL, LC_MESSAGES and LANG as gettext does: the language among those that
// there are ("fr"), or empty for English. `spoken` is the first of the latter three that is not empty.
std::string_view language_of(std::string_view language, std::string_view spoken);

// From now on this process speaks it; empty: English.
void speak(std::string_view language);

// The text in the language that is spoken. `english` is a literal.
std::string tr(std::string_view english);
// The same with values in place of "{}", one after the other; a translation may have "{0}" and "{1}", too,
// which are the first and the second.
std::string tr(std::string_view english, std::initializer_list<std::string_view> values);
// With a number: `one` for 1, else `many`. Each may have one "{}", which is the number.
std::string tr_count(std::string_view one, std::string_view many, uint64_t count);

// Marks a literal that is translated where it is used: of a table.
constexpr std::string_view marked(std::string_view english) {
  return english;
}

// While one is there, English is spoken: for JSON that has the same texts.
class InEnglish {
 public:
  InEnglish();
  ~InEnglish();
  InEnglish(const InEnglish&) = delete;
  InEnglish& operator=(const InEnglish&) = delete;

 private:
  const Catalogue* before_;
};

}  // namespace minke::text
