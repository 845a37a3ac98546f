// What the cluster has answered, kept for all commands of one user on one machine: however many of them ask,
// the cluster is asked each thing at most once in its period. An answer is a file in a directory of the
// user's, made by whoever finds it too old, while others wait for him; a failure is kept, too, for a moment.
// An answer is a row of parts; what is in them is the caller's. Blocking; one thread, any number of
// processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::engine::slurm {

class SharedAnswers {
 public:
  using Milliseconds = std::chrono::milliseconds;
  using TakePart = std::function<Status(std::string_view part)>;

  struct Question {
    std::string kind;  // the file's name
    // Asks the cluster, and gives the parts as they come.
    std::function<Status(const TakePart& give)> ask;
    // How long its answer will do. Called when it has been asked; one that was slow will do for longer.
    std::function<Milliseconds()> period;
  };

  // `directory`: empty where nothing can be kept; then everybody asks for himself.
  explicit SharedAnswers(std::string directory) : directory_(std::move(directory)) {}

  // The parts, in order. Returns when the cluster was asked, ms since the epoch. `newest`: an answer that is
  // older than so much will not do, whatever its period.
  Result<int64_t> get(const Question& question, const TakePart& take,
                      Milliseconds newest = Milliseconds::max()) const;
  // After what changes the answer.
  void forget(const std::string& kind) const;

  const std::string& directory() const { return directory_; }

 private:
  Result<int64_t> read(const std::string& kind, Milliseconds newest, const TakePart& take) const;
  Status ask(const Question& question) const;

  std::string directory_;
};

// The directory of one cluster for this user on this machine: below $XDG_RUNTIME_DIR, or below ~/.cache; made
// where it is not there. Empty: there is none that nobody else can write to.
std::string answers_directory(const std::string& cluster_key);

}  // namespace minke::engine::slurm
