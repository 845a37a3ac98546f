// Two languages for one description. An independent reader reads the JSON back.
#include "view/document/document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace minke::view {
namespace {

std::string described(DocumentFormat format, bool in_pieces) {
  std::string out;
  Document document(format);
  const auto piece = [&] {
    if (in_pieces) out += document.take();
  };
  document.begin_object("meta");
  piece();
  document.text("name", "a \"quoted\"\\ line\nand\ttab");
  document.end();
  document.begin_array("jobs");
  piece();
  document.begin_object();
  document.integer("id", -7);
  piece();
  document.boolean("batch", true);
  document.number("limit", 60);
  document.number("none", std::nullopt);
  document.number("endless", 1, true);
  document.real("share", 1);
  document.begin_array("states");
  document.text("PENDING");
  document.end();
  document.end();
  document.begin_object();
  document.end();
  document.end();
  document.begin_array("errors");
  piece();
  document.end();
  document.finish();
  return out + document.take();
}

TEST(Document, IsJson) {
  const std::string text = described(DocumentFormat::kJson, false);
  const auto read = nlohmann::json::parse(text);
  EXPECT_EQ(read["meta"]["name"], "a \"quoted\"\\ line\nand\ttab");
  EXPECT_EQ(read["jobs"][0]["id"], -7);
  EXPECT_EQ(read["jobs"][0]["batch"], true);
  EXPECT_EQ(read["jobs"][0]["limit"], (nlohmann::json{{"set", true}, {"infinite", false}, {"number", 60}}));
  EXPECT_EQ(read["jobs"][0]["none"], (nlohmann::json{{"set", false}, {"infinite", false}, {"number", 0}}));
  EXPECT_EQ(read["jobs"][0]["endless"], (nlohmann::json{{"set", false}, {"infinite", true}, {"number", 0}}));
  EXPECT_TRUE(read["jobs"][0]["share"].is_number_float());
  EXPECT_EQ(read["jobs"][0]["states"], nlohmann::json::array({"PENDING"}));
  EXPECT_EQ(read["jobs"][1], nlohmann::json::object());
  EXPECT_EQ(read["errors"], nlohmann::json::array());
}

TEST(Document, IsYaml) {
  EXPECT_EQ(described(DocumentFormat::kYaml, false),
            "\"meta\":\n"
            "  \"name\": \"a \\\"quoted\\\"\\\\ line\\nand\\ttab\"\n"
            "\"jobs\":\n"
            "  -\n"
            "    \"id\": -7\n"
            "    \"batch\": true\n"
            "    \"limit\":\n      \"set\": true\n      \"infinite\": false\n      \"number\": 60\n"
            "    \"none\":\n      \"set\": false\n      \"infinite\": false\n      \"number\": 0\n"
            "    \"endless\":\n      \"set\": false\n      \"infinite\": true\n      \"number\": 0\n"
            "    \"share\": 1.0\n"
            "    \"states\":\n"
            "      - \"PENDING\"\n"
            "  - {}\n"
            "\"errors\": []\n");
}

TEST(Document, IsTheSameInPieces) {
  for (auto format : {DocumentFormat::kJson, DocumentFormat::kYaml})
    EXPECT_EQ(described(format, true), described(format, false));
}

TEST(Document, IsAlwaysUtf8) {
  Document document(DocumentFormat::kJson);
  document.text("a\xff", "gr\xc3\xbc\xc3\x9f \xc3 \xed\xa0\x80 \xf0\x9f\x90\x8b \x01\x7f");
  document.finish();
  const auto read = nlohmann::json::parse(document.take());  // throws on anything but UTF-8
  EXPECT_EQ(read["a\xef\xbf\xbd"],
            "gr\xc3\xbc\xc3\x9f \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xf0\x9f\x90\x8b \x01\x7f");
}

}  // namespace
}  // namespace minke::view
