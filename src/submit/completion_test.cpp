#include "submit/completion.h"

#include <gtest/gtest.h>

#include "submit/option_table.h"

namespace minke::submit {
namespace {

// Every option that is not refused stands in every shell's script; no quote is left open.
TEST(Completion, OffersWhatTheTableHas) {
  for (std::string_view name : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(*shell_of(name));
    for (const Option& option : all_options()) {
      const std::string written = std::string(name == "fish" ? " -l " : "--") + std::string(option.name);
      const bool offered = option.disposition != Disposition::kRefused;
      if (offered) {
        EXPECT_NE(script.find(written), std::string::npos) << name << " " << option.name;
      }
    }
    EXPECT_TRUE(script.ends_with('\n'));
  }
  EXPECT_FALSE(shell_of("csh"));
}

}  // namespace
}  // namespace minke::submit
