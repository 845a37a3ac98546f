#include "config/app_settings.h"

#include <gtest/gtest.h>

namespace minke::config {
namespace {

std::string problem_of(const std::string& text) {
  const auto app = parse_app("one", text, "app.toml");
  return app ? "" : app.error().message;
}

TEST(AppSettings, HasDefaultsForAll) {
  const auto app = parse_app("one", "", "app.toml");
  ASSERT_TRUE(app);
  EXPECT_EQ(app->title, "one");
  EXPECT_TRUE(app->listens_at_socket);
  EXPECT_FALSE(app->strips_address);
}

TEST(AppSettings, ReadsFields) {
  const auto app = parse_app("one",
                             "title = \"One\"\nlistens = \"port\"\nheader = \"X-Key: {secret}\"\n"
                             "[[field]]\nname = \"size\"\nkind = \"number\"\nleast = 1\nmost = 5\n",
                             "app.toml");
  ASSERT_TRUE(app) << app.error().message;
  ASSERT_EQ(app->fields.size(), 1u);
  EXPECT_EQ(app->fields[0].most, 5);
  EXPECT_EQ(app->header, "X-Key: {secret}");
}

TEST(AppSettings, SaysWhatIsWrong) {
  for (const char* text :
       {"titel = \"x\"", "title = 1", "title = \"a\\nb\"", "listens = \"udp\"", "listens = \"port\"",
        "listens = \"port\"\nheader = \"no header\"", "header = \"A: b\\r\\nC: d\"", "header = \"A b: c\"",
        "[[field]]\nlabel = \"x\"", "[[field]]\nname = \"A\"", "[[field]]\nname = \"a-b\"",
        "[[field]]\nname = \"a\"\nkind = \"choice\"", "[[field]]\nname = \"a\"\n[[field]]\nname = \"a\"",
        "[field]\nname = \"a\"", "address = \"both\"", "= 1"})
    EXPECT_NE(problem_of(text).find("app.toml"), std::string::npos) << text;
}

TEST(AppSettings, NamesAreWords) {
  for (const char* name : {"a", "jupyter-lab", "tensor_board2"}) EXPECT_TRUE(is_app_name(name)) << name;
  for (const char* name : {"", "A", "../a", "a b", ".a", "1a", "-a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
    EXPECT_FALSE(is_app_name(name)) << name;
}

}  // namespace
}  // namespace minke::config
