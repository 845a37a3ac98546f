// Encodes text as a part of an Internet message (RFC 5322, 2045, 2047): heads, addresses and bodies.
//
// For any text (job names and paths come from users), the result has no misplaced line end, and only ASCII
// bytes. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::helpers {

// `text` with control characters and broken UTF-8 replaced by '?'; line feeds and tabs stay.
std::string clean_text(std::string_view text);

// The value of a head field: one line, as encoded words if it is not ASCII. At most 400 bytes of `text`.
std::string header_text(std::string_view text);

// As quoted-printable, lines ended by CRLF.
std::string quoted_printable(std::string_view text);

// Reads "me, you@b": adds "@domain" to names without one if `domain` is not empty. Fails on a text that is no
// address (text/mail_address.h), on an empty list, and on more than ten.
Result<std::vector<std::string>> recipients(std::string_view list, std::string_view domain);

std::string header_date(int64_t time);  // "Sat, 21 Nov 2026 06:40:00 +0000"

}  // namespace minke::helpers
