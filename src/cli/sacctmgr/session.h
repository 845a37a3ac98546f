// What one sacctmgr works on: a copy of the accounts, the change that is being put together, and the question
// whether it shall be made. One thread; blocking.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client.h"
#include "sched/account_book.h"

namespace minke::cli {

struct AccountingOptions {
  bool immediate = false;  // no questions
  bool quiet = false;
  bool read_only = false;
};

class AccountingSession {
 public:
  static Result<AccountingSession> open(const AccountingOptions& options);

  const sched::AccountBook& book() const { return book_; }
  const std::string& cluster() const { return cluster_; }
  Client& client() { return *client_; }
  sched::AccountsChange change;
  std::vector<uint32_t> reset_usage, reset_qos_usage;  // ids

  void say(const std::string& text) const;  // unless quiet
  // "QUESTION (You have 30 seconds to decide)": whether the answer is yes.
  bool agreed(const std::string& question = "Would you like to commit changes?") const;
  // Asks, and makes the change. The exit status.
  int commit();
  // Without a question.
  Status send();

 private:
  AccountingOptions options_;
  std::shared_ptr<Client> client_;
  sched::AccountBook book_;
  std::string cluster_;
};

}  // namespace minke::cli
