// Fuzz target: several loops ask and tell in any order, send any bytes, and die; so does the process that
// serves them. No trial has two trainers, none is told twice, and the journal makes the same sweep again.
//
// An input is a sweep's number, and letters: who speaks (0 to 3), and what is said. "a" asks; "t", "s" and
// "f" tell the speaker's oldest trial as complete, stopped and failed; "r" reports, "b" asks for the best;
// "c" loses the connection, "k" kills the server; "j" begins a line of its own, to its end.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sweep/ask_tell.h"

using namespace minke::sweep;
using Json = nlohmann::json;

namespace {

constexpr size_t kMostSteps = 60;
constexpr std::array<const char*, 5> kSweeps = {
    "method: random\nmetric: {name: l}\nrun_cap: 4\nparameters: {x: {min: 0.0, max: 1.0}, k: {values: [a, 1, "
    "null]}}\n",
    "method: tpe\nmetric: {name: l, goal: maximize, target: 9}\nfirst_trials: 2\nrun_cap: 9\n"
    "parameters: {x: {distribution: normal, mu: 0, sigma: 1}}\n",
    "method: random\nmetric: {name: l}\nrun_cap: 9\nparameters: {x: {min: 0.0, max: 1.0}}\n"
    "early_terminate: {type: asha, min_iter: 1, max_iter: 9, eta: 3, resource: e}\n",
    "method: random\nmetric: {name: l}\nparameters: {x: {min: 0.0, max: 1.0}}\n"
    "population: {size: 3, interval: 1, max: 3, resource: e}\n",
    "method: grid\nmetric: {name: l}\nparameters: {x: {values: [1, 2, 3]}, y: {values: [u, v]}}\n"
    "early_terminate: {type: hyperband, min_iter: 1, eta: 2}\n",
};

std::filesystem::path place() {
  const std::filesystem::path memory = "/dev/shm";  // syncing a journal takes time on a disk
  return (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) /
         ("minke-ask-tell-" + std::to_string(::getpid()));
}

class Loops {
 public:
  explicit Loops(const std::string& file) : directory_(place()), file_(file) {
    std::filesystem::remove_all(directory_);
    open();
  }
  ~Loops() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  void ask(size_t who) {
    const Json answer = said(R"({"ask": {}})", who);
    if (!answer.contains("trial")) {
      MINKE_CHECK(answer.contains("wait") || answer.contains("done"));
      return;
    }
    for (const auto& others : trains_) MINKE_CHECK(!others.contains(answer["trial"]));
    trains_[who].insert(answer["trial"].get<uint64_t>());
    budget_[answer["trial"]] = answer.value("budget", uint64_t{0});
  }
  void tell(size_t who, const char* how, double value) {
    if (trains_[who].empty()) return;
    const uint64_t trial = *trains_[who].begin();
    Json given = {{"trial", trial}, {"value", value}};
    if (*how != '\0') given[how] = true;
    MINKE_CHECK(said(Json{{"tell", given}}.dump(), who).contains("ok"));
    trains_[who].erase(trial);
    MINKE_CHECK(told_.emplace(trial, budget_[trial]).second);
    MINKE_CHECK(said(Json{{"tell", given}}.dump(), who).contains("error"));
  }
  void report(size_t who, uint64_t count, double value) {
    if (trains_[who].empty()) return;
    const Json given = {{"trial", *trains_[who].begin()}, {"count", count}, {"value", value}};
    MINKE_CHECK(said(Json{{"report", given}}.dump(), who).contains("stop"));
  }
  void best(size_t who) { MINKE_CHECK(!said(R"({"best": {}})", who).contains("error")); }
  // Whatever it says, and whatever it tells of others' trials.
  void line(size_t who, const std::string& text) {
    const Json answer = said(text, who);
    if (answer.contains("error")) return;
    for (auto& one : trains_) one.clear();  // what they train is not known any more
    told_.clear();
    open();
  }
  void lose(size_t who) {
    search_->lost(asker_[who]);
    asker_[who] = ++connections_;
    trains_[who].clear();
  }
  void open() {
    std::string before = shown();
    search_.reset();
    record_.reset();
    auto record =
        Record::create(directory_, file_, {.work_dir = "/", .seed = 1, .jobs = 1, .trials = 0, .sbatch = {}});
    MINKE_CHECK(record);
    record_ = std::move(*record);
    MINKE_CHECK(record_->steer());
    MINKE_CHECK(before.empty() || before == shown());
    search_.emplace(*record_);
    for (auto& one : trains_) one.clear();
  }

 private:
  Json said(const std::string& line, size_t who) {
    const auto answer = search_->answer(line, asker_[who]);
    MINKE_CHECK(answer && answer->ends_with('\n') && answer->find('\n') + 1 == answer->size());
    Json json = Json::parse(*answer, nullptr, false);
    MINKE_CHECK(json.is_object());
    return json;
  }
  // What the journal must keep: not the values on the way, which are reported again.
  std::string shown() const {
    std::string text;
    if (record_ == nullptr) return text;
    for (const auto& [number, trial] : record_->search().trials())
      text += std::to_string(number) + " " + std::to_string(static_cast<int>(trial.fate)) + " " +
              std::to_string(trial.budget) + " " + record_->search().plan().space.json(trial.point) + "\n";
    return text;
  }

  const std::filesystem::path directory_;
  const std::string file_;
  std::unique_ptr<Record> record_;
  std::optional<AskTell> search_;
  uint64_t connections_ = 3;
  std::array<AskTell::Asker, 4> asker_ = {0, 1, 2, 3};
  std::array<std::set<uint64_t>, 4> trains_;
  std::map<uint64_t, uint64_t> budget_;
  std::set<std::pair<uint64_t, uint64_t>> told_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string input(reinterpret_cast<const char*>(data), size);
  Loops loops(kSweeps[static_cast<unsigned char>(input[0] - '0') % kSweeps.size()]);
  size_t who = 0, steps = 0;
  for (size_t i = 1; i < size && steps < kMostSteps; ++i, ++steps) {
    const double value = static_cast<double>(static_cast<unsigned char>(input[i - 1])) - 100;
    switch (input[i]) {
      case 'a':
        loops.ask(who);
        break;
      case 't':
        loops.tell(who, "", value);
        break;
      case 's':
        loops.tell(who, "stopped", value);
        break;
      case 'f':
        loops.tell(who, "failed", value);
        break;
      case 'r':
        loops.report(who, i, value);
        break;
      case 'c':
        loops.lose(who);
        break;
      case 'k':
        loops.open();
        break;
      case 'b':
        loops.best(who);
        break;
      case 'j': {
        const size_t end = std::min(input.find('\n', i), size);
        loops.line(who, input.substr(i + 1, end - i - 1));
        i = end;
        break;
      }
      default:
        who = static_cast<unsigned char>(input[i]) % 4;
    }
  }
  return 0;
}
