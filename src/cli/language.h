// Which commands speak the language of who calls them (text/translate.h). One thread.
#pragma once

#include <string_view>

namespace minke::cli {

// Before a command runs: takes the language from LANGUAGE, LC_ALL, LC_MESSAGES and LANG, if the command is
// one of those that people read. Daemons, helpers and what programs read speak English. Empty: minke alone.
void take_language(std::string_view command);

}  // namespace minke::cli
