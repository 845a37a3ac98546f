#include "text/translate.h"

#include <gtest/gtest.h>

#include "text/catalogue.h"

namespace minke::text {
namespace {

constexpr std::string_view kPo = R"(msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#: src/view/why.cpp
msgid "{} of {}"
msgstr "{1} a {0}"

msgid ""
"two\n"
"lines\t\"here\"\\"
msgstr ""
"deux\n"
"lignes\t« ici »\\"

#, fuzzy
msgid "doubtful"
msgstr "douteux"

msgid "left"
msgstr ""

msgid "{} job"
msgid_plural "{} jobs"
msgstr[0] "{} tâche"
msgstr[1] "{} tâches"
)";

TEST(Translate, ACatalogueIsReadAsTranslatorsWriteIt) {
  const Catalogue catalogue(kPo);
  EXPECT_EQ(catalogue.size(), 3u);
  EXPECT_EQ(catalogue.find("{} of {}"), "{1} a {0}");
  EXPECT_EQ(catalogue.find("two\nlines\t\"here\"\\"), "deux\nlignes\t« ici »\\");
  EXPECT_EQ(catalogue.find("{} job", 1), "{} tâches");
  for (const char* none : {"", "doubtful", "left", "unknown"}) EXPECT_EQ(catalogue.find(none), "") << none;
}

TEST(Translate, TheLanguageIsFoundAsGettextFindsIt) {
  EXPECT_EQ(language_of("", "fr_CA.UTF-8"), "fr");
  EXPECT_EQ(language_of("", "fr"), "fr");
  EXPECT_EQ(language_of("", "fr@euro"), "fr");
  EXPECT_EQ(language_of("fr:en", "en_CA.UTF-8"), "fr");
  EXPECT_EQ(language_of("de:fr", "de_DE"), "fr");
  for (const auto& [language, spoken] : std::vector<std::pair<const char*, const char*>>{{"", ""},
                                                                                         {"", "C"},
                                                                                         {"", "C.UTF-8"},
                                                                                         {"", "POSIX"},
                                                                                         {"fr", "C"},
                                                                                         {"fr", ""},
                                                                                         {"en:fr", "fr_CA"},
                                                                                         {"", "de_DE"},
                                                                                         {"", "frr_DE"}})
    EXPECT_EQ(language_of(language, spoken), "") << language << " " << spoken;
}

TEST(Translate, EnglishIsWhatTheSourceSays) {
  EXPECT_EQ(tr("no such text"), "no such text");
  EXPECT_EQ(tr("{} of {}, {}", {"1", "2"}), "1 of 2, {}");
  EXPECT_EQ(tr("{0}{1}{0}", {"a", "b"}), "aba");
  EXPECT_EQ(tr("{} and {x}", {"{}"}), "{} and {x}");  // a value is no pattern
  EXPECT_EQ(tr_count("one job", "{} jobs", 1), "one job");
  EXPECT_EQ(tr_count("one job", "{} jobs", 0), "0 jobs");
}

TEST(Translate, FrenchWhereItIsSpoken) {
  speak("fr");
  EXPECT_EQ(tr("no such text"), "no such text");
  EXPECT_EQ(tr("You have no jobs."), "Vous n’avez aucune tâche.");
  EXPECT_EQ(tr_count("{} job", "{} jobs", 0), "0 tâche");
  EXPECT_EQ(tr_count("{} job", "{} jobs", 2), "2 tâches");
  {
    const InEnglish english;
    EXPECT_EQ(tr("You have no jobs."), "You have no jobs.");
  }
  EXPECT_EQ(tr("You have no jobs."), "Vous n’avez aucune tâche.");
  speak("");
  EXPECT_EQ(tr("You have no jobs."), "You have no jobs.");
}

}  // namespace
}  // namespace minke::text
