#include "text/signal_name.h"

#include <gtest/gtest.h>
#include <csignal>

#include "model/job_terms.pb.h"

namespace minke::text {
namespace {

TEST(SignalName, NamesAndNumbers) {
  for (const char* text : {"USR1", "SIGUSR1", "usr1", "sigusr1", "10", "10 "}) {
    EXPECT_EQ(parse_signal(text), SIGUSR1) << text;
  }
  for (const char* text : {"", "0", "65", "-1", "foo", "12a", "INTx", "SIG", "99999999999999999999"}) {
    EXPECT_FALSE(parse_signal(text)) << text;
  }
  for (uint32_t number = 1; number <= 64; ++number) EXPECT_EQ(parse_signal(signal_name(number)), number);
  EXPECT_EQ(signal_name(SIGTERM), "TERM");
  EXPECT_EQ(signal_name(40), "40");
}

TEST(SignalName, WarningSignals) {
  auto shown = [](const char* text) {
    auto warning = parse_warning_signal(text);
    return warning ? format_warning_signal(*warning) : warning.error().message;
  };
  EXPECT_EQ(shown("USR1@"), "USR1@0");
  EXPECT_EQ(shown("USR1"), "USR1@60");
  EXPECT_EQ(shown("B:USR1@90"), "B:USR1@90");
  EXPECT_EQ(shown("b:usr1@0"), "B:USR1@0");
  EXPECT_EQ(shown("R:10@5"), "R:USR1@5");
  EXPECT_EQ(shown("BR:USR2@65535"), "RB:USR2@65535");
  EXPECT_EQ(shown("USR1 @ +60"), "USR1@60");
  for (const char* text : {"", "foo", "B:", "@90", "USR1@x", "USR1@70000", "USR1@-1", "X:USR1", "USR1@90x",
                           "B:R:USR1", ":USR1", "0", "BB:USR1"}) {
    EXPECT_EQ(shown(text), "Invalid --signal specification") << text;
  }
}

}  // namespace
}  // namespace minke::text
