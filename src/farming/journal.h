// A farm's ledger as a file that its workers share: only who has the turn adds to it, and what is added is on
// the disk before the turn ends. One thread; blocking.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "farm/ledger.h"
#include "farming/shared_lock.h"
#include "os/fd.h"

namespace minke::farming {

class Journal {
 public:
  // In a directory that has none; `cases` are its first entry.
  static Status create(const std::string& directory, uint64_t cases);
  // The ledger is empty until the first turn or look.
  static Result<Journal> open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  const farm::Ledger& ledger() const { return ledger_; }

  // The right to add entries, from begin_turn() to end_turn(). The ledger is up to date meanwhile.
  Status begin_turn();
  void end_turn();
  // Durable, all or none of them. Error: nothing was added (ENOSPC), or they contradict the ledger.
  Status add(const std::vector<farm::Entry>& entries);

  // Reads what others have added, without a turn: for who only shows it. What could not be written whole may
  // be seen for a moment, so nothing is decided on it.
  Status look();

  // A worker is alive as long as it holds its byte, which it takes before the ledger names it.
  Status be_alive(uint32_t worker) { return lock_.hold(kFirstWorker + worker); }
  Result<bool> is_alive(uint32_t worker) { return lock_.is_held_elsewhere(kFirstWorker + worker); }

 private:
  static constexpr uint64_t kTurn = 0, kFirstWorker = 1;
  Journal(std::string directory, SharedLock lock, os::UniqueFd file)
      : directory_(std::move(directory)), lock_(std::move(lock)), file_(std::move(file)) {}

  Status read_again();

  std::string directory_;
  SharedLock lock_;
  os::UniqueFd file_;
  uint64_t read_ = 0;  // bytes of whole lines
  farm::Ledger ledger_;
};

// A turn that ends with its scope.
class Turn {
 public:
  static Result<Turn> take(Journal& journal) {
    if (const Status mine = journal.begin_turn(); !mine) return failure(mine.error());
    return Turn(journal);
  }
  Turn(Turn&& other) noexcept : journal_(std::exchange(other.journal_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (journal_ != nullptr) journal_->end_turn();
  }

 private:
  explicit Turn(Journal& journal) : journal_(&journal) {}
  Journal* journal_;
};

}  // namespace minke::farming
