// Journal: the launcher's memory across restarts, an
// append-only file of its launches and their ends.
//
// Format: the eight bytes "MINKEJ" and the version (two bytes, little endian); then records. A record
// is the length of its body (four bytes, little endian), the CRC-32 (IEEE) of the body (the same),
// and the body: a JournalRecord (node/journal.proto). The first record is the header.
//
// Invariants
// - When append() returns, the kernel has the whole record, so it survives the launcher's death. When
//   sync() returns, everything appended before survives a power cut.
// - A record that could not be written whole (full disk) is cut off again, so that what follows is
//   readable. While it cannot be cut off (failing disk), nothing is appended.
// - Reading stops at the first truncated or damaged record; the rest is dropped, never guessed.
// - rewrite() replaces the file atomically (new file, fsync, rename) or leaves it as it was.
//
// One owner, one thread. The caller must prevent two journals on one path (the launcher's lock does).
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

// The parsed bytes of a journal. `readable_bytes`: where the undamaged part ends.
struct JournalContents {
  JournalHeader header;
  std::vector<JournalRecord> records;  // without the header
  size_t readable_bytes = 0;
  bool whole = true;  // false: a truncated or damaged record follows
};
// Errors: the bytes are no journal (EILSEQ), or one of a newer version (EPROTONOSUPPORT).
// Empty bytes are an empty journal.
Result<JournalContents> parse_journal(std::string_view bytes);

class Journal {
 public:
  // Reads the file without writing. A missing file is an empty journal.
  static Result<JournalContents> read(const std::string& path);

  // Replaces the file by a journal of these records. It is durable when the call returns.
  static Result<Journal> create(const std::string& path, const JournalHeader& header,
                                const std::vector<JournalRecord>& records);

  // Continues the existing journal, which must be whole and have this header. Used on a
  // full disk, where create() fails.
  static Result<Journal> resume(const std::string& path, const JournalContents& contents);

  Status append(const JournalRecord& record);
  Status sync();
  Status rewrite(const std::vector<JournalRecord>& records);

  // True if a record could not be appended. The next rewrite() repairs this.
  bool incomplete() const { return incomplete_; }
  uint64_t bytes() const { return bytes_; }
  // Worth a rewrite: it is much larger than after the last one.
  bool overgrown() const;

 private:
  std::string path_;
  JournalHeader header_;
  os::UniqueFd file_;
  uint64_t bytes_ = 0;
  uint64_t bytes_when_rewritten_ = 0;
  bool unsynced_ = false;
  bool incomplete_ = false;
  bool cut_off_ = false;  // part of a record lies behind bytes_
};

}  // namespace minke::node
