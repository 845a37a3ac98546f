// What the cluster has answered, kept for all commands of one user on one machine: however many of them ask,
// the cluster is asked each thing at most once in its period. An answer is a file in a directory of the
// user's, made by whoever finds it too old, while others wait for him; a failure is kept, too, for a moment.
// Where an administrator's poller (minke poll) asks for all users, its answers, in a directory of root's, do
// as long as they are young, and newer than what this user has changed. An answer is a row of parts; what is
// in them is the caller's. Blocking; one thread, any number of processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
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
    // `ask` has handed on by itself what it gives, which `take` is not called for then: whoever asks need not
    // read what he has just written.
    bool hands_on = false;
  };

  // `directory`: empty where nothing can be kept; then everybody asks for himself.
  // `polled`: the poller's; empty: there is none.
  explicit SharedAnswers(std::string directory, std::string polled = "")
      : directory_(std::move(directory)), polled_(std::move(polled)) {}
  // For the poller: everybody may read what is made, and it is asked for again before it is too old.
  static SharedAnswers of_poller(std::string directory);

  // The parts, in order. Returns when the cluster was asked, ms since the epoch. `newest`: an answer that is
  // older than so much will not do, whatever its period.
  Result<int64_t> get(const Question& question, const TakePart& take,
                      Milliseconds newest = Milliseconds::max()) const;
  // After what changes the answer.
  void forget(const std::string& kind) const;
  // Whether there is an answer that will do for some time yet.
  bool is_fresh(const std::string& kind) const;
  // Whether the poller has one that does.
  bool is_polled(const std::string& kind) const;

  // Whether there is room for an answer; where there is none, everybody asks for himself.
  bool keeps() const;

  const std::string& directory() const { return directory_; }

 private:
  Result<int64_t> read(const std::string& kind, Milliseconds newest, const TakePart& take) const;
  Result<int64_t> read_polled(const std::string& kind, Milliseconds newest, const TakePart& take) const;
  // Whether what the cluster has answered, be it a failure, is kept. `asked`: what it was; unset: nobody was
  // asked.
  bool ask(const Question& question, std::optional<Status>& asked) const;

  std::string directory_, polled_;
  unsigned mode_ = 0600;
};

// The directory of one cluster for this user on this machine: below $XDG_RUNTIME_DIR, or below ~/.cache; made
// where it is not there. Empty: there is none that nobody else can write to.
std::string answers_directory(const std::string& cluster_key);

// That of the poller: below /run/minke-poll, or $MINKE_POLLED. Not made here.
std::string polled_directory(const std::string& cluster_key);

}  // namespace minke::engine::slurm
