// The launcher's memory that outlives it: an append-only file of what it launched and how that ended.
//
// Format: the eight bytes "MINKEJ" and the version (two bytes, low first); then records, each the length of
// its body (four bytes, low first), the CRC-32 (IEEE) of the body (four bytes, low first), and the body: a
// JournalRecord (node/journal.proto). The first record is the header.
//
// Invariants
// - append() has handed the whole record to the kernel when it returns: it survives the death of the
// launcher.
//   sync() makes everything appended survive a power cut.
// - A record that could not be written whole (full disk) is cut off again, so what follows stays readable.
//   While it cannot be cut off (a disk that fails), nothing is appended.
// - Reading stops at the first record that is cut off or damaged; the rest is dropped, never guessed at.
// - rewrite() replaces the file at once (new file, fsync, rename) or leaves it as it was.
//
// One owner, one thread. Two journals of one path must be kept apart by the caller (the launcher's lock).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node/journal.pb.h"
#include "os/fd.h"

namespace minke::node {

constexpr uint16_t kJournalVersion = 1;

std::string encode_record(const JournalRecord& record);

// What a journal's bytes say. `readable_bytes`: where the undamaged part ends.
struct JournalContents {
  JournalHeader header;
  std::vector<JournalRecord> records;  // without the header
  size_t readable_bytes = 0;
  bool whole = true;  // nothing stands behind that part: no record has been cut off or damaged
};
// Errors: no journal at all (EILSEQ), or one of a newer version (EPROTONOSUPPORT). Empty bytes are an empty
// journal.
Result<JournalContents> parse_journal(std::string_view bytes);

class Journal {
 public:
  // Reads what is there (nothing: an empty journal). Nothing is written.
  static Result<JournalContents> read(const std::string& path);

  // Starts a journal of these records in place of what is there; durable when it returns.
  static Result<Journal> create(const std::string& path, const JournalHeader& header,
                                const std::vector<JournalRecord>& records);

  // Goes on with the journal that is there, which must be whole and have this header. For a full disk, where
  // none can be created.
  static Result<Journal> resume(const std::string& path, const JournalContents& contents);

  Status append(const JournalRecord& record);
  Status sync();
  Status rewrite(const std::vector<JournalRecord>& records);

  // A record could not be appended: the next rewrite() makes up for it.
  bool incomplete() const { return incomplete_; }
  uint64_t bytes() const { return bytes_; }
  // Worth a rewrite: it has grown well beyond what it was after the last one.
  bool overgrown() const;

 private:
  std::string path_;
  JournalHeader header_;
  os::UniqueFd file_;
  uint64_t bytes_ = 0;
  uint64_t bytes_when_rewritten_ = 0;
  bool unsynced_ = false;
  bool incomplete_ = false;
  bool cut_off_ = false;  // a part of a record is behind bytes_
};

}  // namespace minke::node
