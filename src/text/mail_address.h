// Addresses of mail that users name. An address becomes an argument of a mail program, and of scripts that
// sites write around one: what mail(1) takes for a command ("|…"), a file ("/…", "=…", "+…") or an option,
// and what a shell would act upon, is no address here, although RFC 5321 has quoted forms for some of it.
//
// Two checks: a job is refused for what could do harm (check_mail_user). It is not refused for what is only
// no address, since scripts come with "<your address>", or "$USER@example.org", and Slurm takes them: mail
// goes to addresses alone (parse_mail_addresses). Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::text {

inline constexpr size_t kMostMailAddresses = 10;

// "me" or "me@example.org": a local part (letters, digits and . _ + - = %, a letter, digit or _ first, no dot
// last or twice, at most 64), and a domain of host names, at most 254 in all.
bool is_mail_address(std::string_view address);

// The addresses of a list with commas; blanks around them and empty ones do not count. Fails on a malformed
// address, an empty list, and too many.
Result<std::vector<std::string>> parse_mail_addresses(std::string_view list);

// What --mail-user may be: any text of one line and 1024 bytes, but no word of it begins as an option, a
// command, a file or a folder would, or has a slash, bar, backslash, backquote or semicolon. Errors: which.
Status check_mail_user(std::string_view list);

}  // namespace minke::text
