// Mail addresses that users give. An address becomes an argument of a mail program, and of scripts that sites
// write around one. So this room rejects what mail(1) takes for a command ("|…"), a file ("/…", "=…", "+…")
// or an option, and what a shell would act upon, although RFC 5321 has quoted forms for some of it.
//
// There are two checks. check_mail_user refuses a job only for what could do harm: scripts come with "<your
// address>" or "$USER@example.org", and Slurm takes them. parse_mail_addresses is strict, and mail goes only
// to what it returns. Pure; any thread.
#pragma once

#include <optional>
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

// "chat" of "chat@webhook": a web hook of the user's own, by its name (config/webhooks.h). Nothing for any
// other address.
std::optional<std::string> webhook_name(std::string_view address);
// "phone" of "phone@command": a command of the user's own, by its name (config/own_commands.h). Nothing for
// any other address.
std::optional<std::string> command_name(std::string_view address);

// The addresses of a list, as they are sent to apart: all mail addresses together, and each web hook and
// command by itself, so that one that fails is tried again alone. A list that cannot be read comes back as it
// is.
std::vector<std::string> addresses_apart(const std::string& list);

// Checks --mail-user: one line of at most 1024 bytes; no word may begin as an option, a command, a file or a
// folder does, or have a slash, bar, backslash, backquote or semicolon. The error names the word.
Status check_mail_user(std::string_view list);

}  // namespace minke::text
