#include "portal/remembered.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

namespace minke::portal {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTimesItsCost = 20;
constexpr size_t kMostAnswers = 32;

}  // namespace

struct Remembered::Answer {
  std::mutex making;  // who asks for the same waits for it
  std::optional<Reply> reply;
  Clock::time_point made;
  Clock::duration cost{};
  std::atomic<Clock::rep> asked = 0;
};

Remembered::Remembered() = default;
Remembered::~Remembered() = default;

std::shared_ptr<Remembered::Answer> Remembered::answer_of(const std::string& key) {
  const std::lock_guard lock(mutex_);
  auto& answer = answers_[key];
  if (answer == nullptr) answer = std::make_shared<Answer>();
  answer->asked = Clock::now().time_since_epoch().count();
  const auto kept = answer;
  if (answers_.size() > kMostAnswers)
    answers_.erase(std::min_element(answers_.begin(), answers_.end(), [](const auto& a, const auto& b) {
      return a.second->asked.load() < b.second->asked.load();
    }));
  return kept;
}

Result<Reply> Remembered::get(const std::string& key, const Make& make) {
  const auto answer = answer_of(key);
  const std::lock_guard lock(answer->making);
  const Clock::time_point begin = Clock::now();
  if (answer->reply && begin - answer->made < kTimesItsCost * answer->cost) return *answer->reply;
  auto made = make();
  if (!made) return made;
  answer->made = Clock::now();
  answer->cost = answer->made - begin;
  answer->reply = *made;
  return made;
}

}  // namespace minke::portal
