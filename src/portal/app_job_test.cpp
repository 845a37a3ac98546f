#include "portal/app_job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "portal/app_kinds.h"

namespace minke::portal {
namespace {

using Json = nlohmann::ordered_json;

config::AppSettings an_app() {
  auto app = config::parse_app(
      "one",
      "[[field]]\nname = \"text\"\n[[field]]\nname = \"number\"\nkind = \"number\"\nleast = -2\n"
      "most = 9\n[[field]]\nname = \"pick\"\nkind = \"choice\"\nchoices = [\"a\", \"b\"]\n"
      "[[field]]\nname = \"on\"\nkind = \"switch\"\n",
      "app.toml");
  return *app;
}

const AppPlace kPlace{"/home/x/it's/KEY", "/apps/KEY", "/usr/bin/minke", "n1", false};

TEST(AppJob, QuotesWhatPeopleType) {
  const auto job = app_job(an_app(), {{"fields", {{"text", "'; rm -rf ~; echo '$(id)`id`"}}}}, kPlace);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_NE(job->script.find("export APP_TEXT=''\\''; rm -rf ~; echo '\\''$(id)`id`'\n"), std::string::npos);
  EXPECT_NE(job->script.find("APP_SESSION='/home/x/it'\\''s/KEY'"), std::string::npos);
}

TEST(AppJob, TakesResourcesAsWordsOfSbatch) {
  const auto job =
      app_job(an_app(), {{"time", "1:00:00"}, {"gpus", "0"}, {"cpus", 3}, {"modules", " a/1  b "}}, kPlace);
  ASSERT_TRUE(job);
  const auto has = [&](const char* option) {
    return std::find(job->options.begin(), job->options.end(), option) != job->options.end();
  };
  EXPECT_TRUE(has("--time=1:00:00") && has("--cpus-per-task=3") && !has("--gpus=0"));
  EXPECT_NE(job->script.find("module load a/1 b || exit 1\n"), std::string::npos);
}

TEST(AppJob, RefusesWhatDoesNotFit) {
  const Json wrong[] = {{{"fields", {{"text", "a\nb"}}}},
                        {{"fields", {{"text", Json::array()}}}},
                        {{"fields", {{"number", "x"}}}},
                        {{"fields", {{"number", -3}}}},
                        {{"fields", {{"number", 10}}}},
                        {{"fields", {{"pick", "c"}}}},
                        {{"fields", {{"on", "no"}}}},
                        {{"fields", {{"other", "x"}}}},
                        {{"fields", Json::array()}},
                        {{"time", "1\n#SBATCH -A x"}},
                        {{"time", Json::object()}},
                        {{"modules", "a;id"}},
                        {{"modules", "-x"}},
                        {{"modules", "$(id)"}},
                        {{"cpus", std::string(300, '1')}}};
  for (const Json& one : wrong) EXPECT_FALSE(app_job(an_app(), one, kPlace)) << one;
}

TEST(AppKinds, ThoseOfThisProgramCanBeRead) {
  for (const BuiltinApp& one : builtin_apps()) {
    const auto app = config::parse_app(one.name, one.settings, one.name);
    ASSERT_TRUE(app) << app.error().message;
    for (const config::AppField& field : app->fields) EXPECT_FALSE(field.label_fr.empty());
  }
}

}  // namespace
}  // namespace minke::portal
