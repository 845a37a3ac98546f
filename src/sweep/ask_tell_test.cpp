#include "sweep/ask_tell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace minke::sweep {
namespace {

using Json = nlohmann::json;

class AskTellTest : public testing::Test {
 protected:
  AskTellTest() {
    char name[] = "/tmp/minke-ask-tell-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~AskTellTest() override { (void)!std::system(("rm -rf " + path_).c_str()); }
  // The sweep of `file`, as it is in the directory by now.
  void open(const std::string& file) {
    search_.reset();
    record_.reset();
    auto record =
        Record::create(path_, file, {.work_dir = "/", .seed = 1, .jobs = 1, .trials = 0, .sbatch = {}});
    ASSERT_TRUE(record) << record.error().message;
    record_ = std::move(*record);
    ASSERT_TRUE(record_->steer());
    search_ = std::make_unique<AskTell>(*record_);
  }
  Json said(const std::string& line, AskTell::Asker asker) {
    const auto answer = search_->answer(line, asker);
    EXPECT_TRUE(answer);
    return Json::parse(*answer);
  }
  Json tell(uint64_t trial, double value, AskTell::Asker asker) {
    return said(Json{{"tell", {{"trial", trial}, {"value", value}}}}.dump(), asker);
  }

  std::string path_;
  std::unique_ptr<Record> record_;
  std::unique_ptr<AskTell> search_;
};

constexpr char kRandom[] =
    "method: random\nmetric: {name: l}\nrun_cap: 2\nparameters:\n  x: {min: 0.0, max: 1.0}\n";
constexpr char kHalving[] =
    "method: random\nmetric: {name: l}\nrun_cap: 3\nparameters:\n  x: {min: 0.0, max: 1.0}\n"
    "early_terminate: {type: asha, min_iter: 1, max_iter: 3, eta: 3, resource: epochs}\n";
constexpr char kPopulation[] =
    "method: random\nmetric: {name: l}\nparameters:\n  x: {min: 0.0, max: 1.0}\n"
    "population: {size: 2, interval: 1, max: 2, resource: epochs}\n";

TEST_F(AskTellTest, GivesATrialOfALostAskerToTheNext) {
  open(kRandom);
  const Json first = said(R"({"ask": {}})", 1);
  EXPECT_EQ(first["trial"], 1);
  EXPECT_EQ(said(R"({"ask": {}})", 2)["trial"], 2);
  EXPECT_EQ(said(R"({"ask": {}})", 3), Json({{"wait", true}}));
  search_->lost(1);
  EXPECT_EQ(said(R"({"ask": {}})", 3), first);
  open(kRandom);  // a kill of the process that serves
  EXPECT_EQ(said(R"({"ask": {}})", 1), first);
  EXPECT_EQ(tell(1, 0.5, 1), Json({{"ok", true}}));
  EXPECT_EQ(tell(2, 0.2, 1), Json({{"ok", true}}));
  EXPECT_EQ(said(R"({"ask": {}})", 1), Json({{"done", true}}));
  EXPECT_EQ(said(R"({"best": {}})", 1)["trial"], 2);
}

// One came back by another connection, told, and trains the same trial's next piece.
TEST_F(AskTellTest, LeavesATrialToWhoTrainsItNow) {
  open(kHalving);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(said(R"({"ask": {}})", 1)["budget"], 1);
  for (uint64_t trial = 1; trial <= 3; ++trial) tell(trial, static_cast<double>(trial), 2);
  const Json longer = said(R"({"ask": {}})", 2);
  ASSERT_EQ(longer["budget"], 3);
  search_->lost(1);
  EXPECT_EQ(said(R"({"ask": {}})", 3), Json({{"wait", true}}));
  search_->lost(2);
  EXPECT_EQ(said(R"({"ask": {}})", 3), longer);
}

TEST_F(AskTellTest, NamesTheSourceToWhoTrainsAnothersTrial) {
  open(kPopulation);
  for (int i = 0; i < 2; ++i) said(R"({"ask": {}})", 1);
  tell(1, 1, 1);
  tell(2, 2, 1);
  const Json replaced = said(R"({"ask": {}})", 1);
  ASSERT_EQ(replaced["trial"], 2);
  ASSERT_EQ(replaced["source"], 1);
  search_->lost(1);
  EXPECT_EQ(said(R"({"ask": {}})", 2), replaced);
}

TEST_F(AskTellTest, SaysWhatIsWrongWithALine) {
  open(kRandom);
  const auto wrong = [&](const std::string& line) { return said(line, 1).value("error", ""); };
  for (const char* line : {"", "{", "[]", "{}", "\xff", R"({"ask": 1})", R"({"ask": {}, "best": {}})"})
    EXPECT_EQ(wrong(line), "a line is one object: {\"ask\": {}}, report, tell or best") << line;
  EXPECT_EQ(wrong(R"({"aks": {}})"), "there is no aks; there are ask, report, tell, best");
  EXPECT_EQ(wrong(R"({"tell": {"value": 1}})"), "tell needs a trial");
  EXPECT_EQ(wrong(R"({"tell": {"trial": -1, "value": 1}})"), "tell needs a trial");
  EXPECT_EQ(wrong(R"({"tell": {"trial": 1, "value": 1}})"), "trial 1 is not being trained");
  said(R"({"ask": {}})", 1);
  EXPECT_EQ(wrong(R"({"report": {"trial": 1, "value": 1}})"), "report needs count and value");
  EXPECT_EQ(said(R"({"tell": {"trial": 1, "value": NaN}})", 1).count("error"), 1u);  // that is no JSON
  EXPECT_EQ(said(R"({"tell": {"trial": 1, "value": null}})", 1), Json({{"ok", true}}));
  EXPECT_EQ(record_->search().trials().at(1).fate, search::Fate::kFailed);
  EXPECT_EQ(record_->trials().at(1).reason, "its value is no finite number");
}

}  // namespace
}  // namespace minke::sweep
