// Answers that are summed up from many ended jobs, remembered for twenty times as long as they took: many
// pages cause one look through the records, which takes at most a twentieth of the time. Any thread;
// blocking.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "portal/message.h"

namespace minke::portal {

class Remembered {
 public:
  using Make = std::function<Result<Reply>()>;

  Remembered();
  ~Remembered();
  Remembered(const Remembered&) = delete;
  Remembered& operator=(const Remembered&) = delete;

  // `key` names the answer with its parameters. Failures are not remembered.
  Result<Reply> get(const std::string& key, const Make& make);

 private:
  struct Answer;
  std::shared_ptr<Answer> answer_of(const std::string& key);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Answer>> answers_;
};

}  // namespace minke::portal
