// The state of one sacctmgr: a copy of the accounts, the change in preparation, and the question whether to
// make it. One thread; blocking.
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

// Prints what is wrong. Returns the exit status.
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
  const std::string& cluster() const { return cluster_; }  // the name of the cluster served here
  // The book has no name for the cluster served here; this returns one. Any case.
  std::string cluster_name(const std::string& in_book) const;
  std::string cluster_in_book(const std::string& name) const;
  // Returns those of cluster= as in the book; by default all, this one first. Fails on an unknown one.
  Result<std::vector<std::string>> clusters_of(std::span<const Word> words) const;
  engine::Engine& engine() { return *engine_; }
  accounts::AccountsChange change;
  std::vector<uint32_t> reset_usage, reset_qos_usage;  // ids

  void say(const std::string& text) const;  // unless quiet
  // Asks "QUESTION (You have 30 seconds to decide)"; returns whether the answer is yes.
  bool agreed(const std::string& question = "Would you like to commit changes?") const;
  bool writable() const;  // prints a message if not
  // Asks, and makes the change. Returns the exit status.
  int commit();
  int nothing(const std::string& done) const;        // " Nothing modified"; returns the exit status
  int nothing_there(const std::string& done) const;  // the same, of what no name fits
  // Makes the change without asking.
  Status send();

 private:
  AccountingOptions options_;
  std::shared_ptr<engine::Engine> engine_;
  accounts::AccountBook book_;
  std::string cluster_;
};

}  // namespace minke::cli
