// Answers that are dear to get, kept for a while: those of the name service, which may be on another machine.
//
// How long each is kept is said with it. When there are too many, all are forgotten: they can be had again.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace minke::engine {

template <typename Key, typename Value>
class KeptAnswers {
 public:
  struct Answer {
    Value value{};
    int64_t seconds = 0;  // that it may be kept
  };
  explicit KeptAnswers(size_t most) : most_(most) {}

  // `ask` returns an Answer; it is called where none is kept any more. Valid until the next call.
  template <typename Ask>
  const Value& get(const Key& key, int64_t now, const Ask& ask) {
    if (kept_.size() >= most_ && !kept_.contains(key)) kept_.clear();
    Kept& kept = kept_[key];
    if (kept.until <= now) {
      Answer answer = ask();
      kept = {std::move(answer.value), now + answer.seconds};
    }
    return kept.value;
  }

 private:
  struct Kept {
    Value value{};
    int64_t until = 0;
  };
  size_t most_;
  std::unordered_map<Key, Kept> kept_;
};

}  // namespace minke::engine
