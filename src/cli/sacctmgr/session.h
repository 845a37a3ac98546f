// What one sacctmgr works on: a copy of the accounts, the change that is being put together, and the question
// whether it shall be made. One thread; blocking.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "accounts/account_book.h"
#include "base/result.h"
#include "cli/sacctmgr/words.h"
#include "engine/engine.h"

namespace minke::cli {

// Says what is wrong. The exit status.
int refuse(const std::string& problem);

struct AccountingOptions {
  bool immediate = false;  // no questions
  bool quiet = false;
  bool read_only = false;
};

class AccountingSession {
 public:
  static Result<AccountingSession> open(const AccountingOptions& options);

  const accounts::AccountBook& book() const { return book_; }
  const std::string& cluster() const { return cluster_; }  // the name of the one that is served here
  // The book has no name for that one; here it has. Any case.
  std::string cluster_name(const std::string& in_book) const;
  std::string cluster_in_book(const std::string& name) const;
  // Those of cluster= as the book has them; none given: all, this one first. Errors: one that is not known.
  Result<std::vector<std::string>> clusters_of(std::span<const Word> words) const;
  engine::Engine& engine() { return *engine_; }
  accounts::AccountsChange change;
  std::vector<uint32_t> reset_usage, reset_qos_usage;  // ids

  void say(const std::string& text) const;  // unless quiet
  // "QUESTION (You have 30 seconds to decide)": whether the answer is yes.
  bool agreed(const std::string& question = "Would you like to commit changes?") const;
  bool writable() const;  // says so where it is not
  // Asks, and makes the change. The exit status.
  int commit();
  int nothing(const std::string& done) const;  // " Nothing modified"; the exit status
  // Without a question.
  Status send();

 private:
  AccountingOptions options_;
  std::shared_ptr<engine::Engine> engine_;
  accounts::AccountBook book_;
  std::string cluster_;
};

}  // namespace minke::cli
