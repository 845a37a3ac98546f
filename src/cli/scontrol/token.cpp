// scontrol token: what a program shows to one's own portal (minke portal).
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "cli/scontrol/commands.h"
#include "model/error.h"
#include "portal/user_token.h"
#include "text/number.h"
#include "view/output.h"
#include "view/text.h"

namespace minke::cli {
namespace {

// Returns seconds; the error is what is printed.
Result<int64_t> parse_lifespan(const std::string& value) {
  if (text::equals_ignoring_case(value, "infinite") || text::equals_ignoring_case(value, "unlimited"))
    return portal::kLongestTokenSeconds;
  const auto seconds = text::parse_unsigned(value);
  if (!seconds || *seconds == 0) return failure("Invalid numeric value \"" + value + "\" for lifespan.");
  if (*seconds > static_cast<uint64_t>(portal::kLongestTokenSeconds))
    return failure("Numeric argument (" + value + ") too large for lifespan.");
  return static_cast<int64_t>(*seconds);
}

}  // namespace

int Scontrol::tell_token(const Words& words) {
  const std::string self = view::user_name_of(::getuid());
  std::string user = self;
  int64_t seconds = portal::kTokenSeconds;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string_view name = std::string_view(words[i]).substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (equals != std::string::npos && text::equals_ignoring_case(name, "lifespan")) {
      const auto given = parse_lifespan(value);
      if (!given) return view::print_error("scontrol", given.error().message), 1;
      seconds = *given;
    } else if (equals != std::string::npos && text::equals_ignoring_case(name, "username")) {
      user = value;
    } else {
      std::fprintf(stderr, "Invalid option: `%s`\n", words[i].c_str());
      return 1;
    }
  }
  // The portal that takes it is one's own.
  if (user != self)
    return view::print_error("scontrol", "slurm_fetch_token: error with request: Invalid user id"), 1;
  const auto key = portal::token_key();
  if (!key) return view::print_error("scontrol", key.error().message), 1;
  view::write_out("SLURM_JWT=" + portal::make_token(*key, user, std::time(nullptr), seconds) + "\n");
  return 0;
}

}  // namespace minke::cli
