// The schemas that come from the table are those of real Slurms (tests/data/document_shapes.txt), version by
// version; and a document follows its shape, whatever was described.
#include "view/document/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "text/number.h"
#include "view/document/answers.h"
#include "view/document/document.h"

namespace minke::view {
namespace {

using nlohmann::json;

constexpr std::pair<std::string_view, std::string_view> kOfCommands[] = {
    {"squeue --steps", answer::kSteps},
    {"scontrol show step", answer::kSteps},
    {"squeue --only-job-state", answer::kJobStates},
    {"sinfo", answer::kNodeLines},
    {"scontrol listjobs", answer::kListedJobs},
    {"scontrol liststeps", answer::kListedSteps},
    {"scontrol listpids", answer::kListedProcesses}};

bool is_within(const std::string& range, int version) {
  if (range.empty()) return true;
  return version >= std::stoi(range.substr(0, 2)) && version <= std::stoi(range.substr(3));
}

using Fields = std::set<std::string>;  // "jobs[].flags words": and one with each word

// What real Slurms have in one version: the fields of each document.
std::map<std::string, Fields> facts(int version) {
  std::ifstream file(MINKE_SOURCE_DIR "/tests/data/document_shapes.txt");
  std::map<std::string, Fields> documents;
  std::string line, document, field;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("= ")) {
      document = line.substr(2);
    } else if (line.starts_with("  ")) {
      // The words of the field above.
      for (std::string_view word : text::split(std::string_view(line).substr(2), '|')) {
        const size_t at = word.find('@');
        const std::string range(at == std::string_view::npos ? "" : word.substr(at + 1));
        if (!field.empty() && is_within(range, version))
          documents[document].insert(field + " " + std::string(word.substr(0, at)));
      }
    } else {
      std::istringstream words(line);
      std::string path, type, range;
      words >> path >> type >> range;
      field = is_within(range, version) ? path + " " + type : "";
      if (!field.empty()) documents[document].insert(field);
    }
  }
  return documents;
}

// Collects the fields below a schema.
void collect(const json& schemas, const json& schema, const std::string& path, Fields& fields) {
  if (schema.contains("$ref")) {
    const std::string reference = schema["$ref"];
    return collect(schemas, schemas.at(reference.substr(reference.rfind('/') + 1)), path, fields);
  }
  const std::string type = schema.value("type", "");
  const auto add_words = [&](const json& words, const std::string& kind) {
    fields.insert(path + " " + kind);
    for (const json& word : words) fields.insert(path + " " + kind + " " + word.get<std::string>());
  };
  if (schema.contains("enum")) return add_words(schema["enum"], "word");
  if (type == "array") {
    const json& items = schema["items"];
    if (items.contains("enum")) return add_words(items["enum"], "words");
    if (items.empty()) return void(fields.insert(path + " array"));
    return collect(schemas, items, path + "[]", fields);
  }
  if (type != "object" || !schema.contains("properties"))
    return void(fields.insert(path + " " + (type == "number" ? "real" : type)));
  const json& properties = schema["properties"];
  if (properties.contains("infinite"))
    return void(
        fields.insert(path + (properties["number"]["type"] == "number" ? " real-number" : " number")));
  for (const auto& [name, value] : properties.items())
    collect(schemas, value, path.empty() ? name : path + "." + name, fields);
}

json schemas_of(int version) {
  Document document(DocumentFormat::kJson);
  describe_schemas(document, version);
  document.finish();
  return json::parse(document.take());
}

// Tells what one has and the other lacks.
std::string differences(const Fields& ours, const Fields& real) {
  std::string text;
  for (const std::string& field : ours)
    if (!real.contains(field)) text += "  only here: " + field + "\n";
  for (const std::string& field : real)
    if (!ours.contains(field)) text += "  missing: " + field + "\n";
  return text;
}

Fields fields_of(const json& schemas, int version, std::string_view answer, bool with_end) {
  Fields all, fields;
  const std::string name = "v0.0." + std::to_string(version) + "_" + std::string(answer);
  if (schemas.contains(name)) collect(schemas, schemas[name], "", all);
  for (const std::string& field : all) {
    const bool of_the_end =
        field.starts_with("meta") || field.starts_with("errors") || field.starts_with("warnings");
    if (with_end || !of_the_end) fields.insert(field);
  }
  return fields;
}

class Schemas : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, Schemas, testing::Range(kOldestParser, kNewestParser + 1),
                         testing::PrintToStringParamName());

TEST_P(Schemas, AreThoseOfRealSlurms) {
  const int version = GetParam();
  const json schemas = schemas_of(version);
  std::map<std::string, Fields> expected = facts(version);
  for (const DocumentPage& page : document_pages()) {
    const std::string name = std::string(page.part) + std::string(page.name);
    if (name == "/slurm/jobs/state") continue;  // its schema is that of whole jobs
    EXPECT_EQ(expected.contains(name), page.since <= version) << name;
    EXPECT_EQ(differences(fields_of(schemas, version, page.answer, name == "/slurm/ping"), expected[name]),
              "")
        << name;
    expected.erase(name);
  }
  for (const auto& [name, answer] : kOfCommands) {
    if (expected.contains(std::string(name))) {
      EXPECT_EQ(differences(fields_of(schemas, version, answer, false), expected[std::string(name)]), "")
          << name;
    }
    expected.erase(std::string(name));
  }
  for (const auto& [name, fields] : expected) ADD_FAILURE() << name << " is in no table";
}

// A document of the newest version, and of an older one.
json described(int version, std::string_view answer, void (*describe)(Document&)) {
  use_data_parser(version);
  Document document(DocumentFormat::kJson, answer);
  describe(document);
  document.finish();
  use_data_parser(kNewestParser);
  return json::parse(document.take());
}

TEST(ShapedDocument, HasEveryFieldOnceAndNoOther) {
  const auto read = described(42, answer::kLicenses, [](Document& document) {
    document.begin_array("licenses");
    document.begin_object();
    document.text("LicenseName", "matlab");
    document.text("LicenseName", "again");
    document.text("nosuch", "field");
    document.begin_object("nosuch object");
    document.begin_array("within");
    document.text("left out");
    document.end();
    document.end();
    document.end();
    document.end();
  });
  const json& license = read["licenses"][0];
  EXPECT_EQ(license["LicenseName"], "matlab");
  EXPECT_EQ(license["Total"], 0);
  EXPECT_EQ(license["Remote"], false);
  EXPECT_FALSE(license.contains("nosuch"));
  EXPECT_EQ(read["last_update"], (json{{"set", false}, {"infinite", false}, {"number", 0}}));
}

TEST(ShapedDocument, GivesValuesTheTypeOfTheVersion) {
  const auto describe = [](Document& document) {
    document.begin_object("shares");
    document.begin_array("shares");
    document.begin_object();
    document.real_number("effective_usage", 0.5);
    document.text("type", "USER");
    document.end();
  };
  EXPECT_EQ(described(40, answer::kShares, describe)["shares"]["shares"][0]["effective_usage"], 0.5);
  const json newest = described(45, answer::kShares, describe)["shares"]["shares"][0];
  EXPECT_EQ(newest["effective_usage"], (json{{"set", true}, {"infinite", false}, {"number", 0.5}}));
  EXPECT_EQ(newest["type"], json::array({"USER"}));
}

TEST(ShapedDocument, LeavesOutWordsThatTheVersionDoesNotKnow) {
  const auto describe = [](Document& document) {
    document.begin_array("jobs");
    document.begin_object();
    document.begin_array("flags");
    document.text("MAGNETIC");
    document.text("EXTERNAL_JOB");
    document.end();
  };
  EXPECT_EQ(described(42, answer::kJobs, describe)["jobs"][0]["flags"], json::array({"MAGNETIC"}));
  EXPECT_EQ(described(43, answer::kJobs, describe)["jobs"][0]["flags"],
            json::array({"MAGNETIC", "EXTERNAL_JOB"}));
  EXPECT_TRUE(described(45, answer::kJobs, describe)["jobs"][0]["job_resources"].is_null());
}

}  // namespace
}  // namespace minke::view
