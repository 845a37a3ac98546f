// KeptAnswers: a cache of expensive answers, those of the name service, which may run on another machine.
//
// Each answer says how long it may be kept. If there are too many, all are dropped, since they can
// be asked for again. One thread.
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
    int64_t seconds = 0;  // for which it may be kept
  };
  explicit KeptAnswers(size_t most) : most_(most) {}

  // Calls `ask`, which returns an Answer, if none is cached. The result is valid until the next call.
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
