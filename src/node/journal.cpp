#include "node/journal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/crc.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "node/journal.pb.h"

namespace minke::node {
namespace {

constexpr char kMagic[] = "MINKEJ";
constexpr size_t kMagicBytes = 6;
constexpr size_t kPrefixBytes = kMagicBytes + 2;
constexpr size_t kRecordHeaderBytes = 8;
constexpr uint64_t kSmallestWorthRewriting = uint64_t{4} << 20;

uint32_t crc32(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

void put_u32(char* to, uint32_t value) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<char>(value >> (8 * i));
}

uint32_t get_u32(const char* from) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= uint32_t{static_cast<uint8_t>(from[i])} << (8 * i);
  return value;
}

std::string prefix() {
  std::string bytes(kMagic, kMagicBytes);
  bytes += static_cast<char>(kJournalVersion & 0xff);
  bytes += static_cast<char>(kJournalVersion >> 8);
  return bytes;
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failure_from_errno("cannot write the launcher's journal", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

std::string encode_record(const JournalRecord& record) {
  std::string bytes(kRecordHeaderBytes, '\0');
  record.AppendPartialToString(&bytes);
  std::string_view body = std::string_view(bytes).substr(kRecordHeaderBytes);
  put_u32(bytes.data(), static_cast<uint32_t>(body.size()));
  put_u32(bytes.data() + 4, crc32(body));
  return bytes;
}

Result<JournalContents> parse_journal(std::string_view bytes) {
  JournalContents contents;
  // A crash may have truncated even the prefix: a part of it counts as empty.
  std::string expected = prefix();
  if (bytes.size() < kPrefixBytes) {
    contents.whole = bytes.empty();
    if (expected.compare(0, bytes.size(), bytes) == 0) return contents;
    return failure("not a launcher's journal", EILSEQ);
  }
  if (bytes.compare(0, kMagicBytes, expected, 0, kMagicBytes) != 0) {
    return failure("not a launcher's journal", EILSEQ);
  }
  unsigned version = static_cast<uint8_t>(bytes[kMagicBytes]) | static_cast<uint8_t>(bytes[kMagicBytes + 1])
                                                                    << 8;
  if (version > kJournalVersion) {
    return failure("the launcher's journal was written by a newer version of minke", EPROTONOSUPPORT);
  }
  size_t at = kPrefixBytes;
  contents.readable_bytes = at;
  while (bytes.size() - at >= kRecordHeaderBytes) {
    size_t length = get_u32(bytes.data() + at);
    uint32_t checksum = get_u32(bytes.data() + at + 4);
    if (length > bytes.size() - at - kRecordHeaderBytes) break;
    std::string_view body = bytes.substr(at + kRecordHeaderBytes, length);
    JournalRecord record;
    if (crc32(body) != checksum ||
        !record.ParsePartialFromArray(body.data(), static_cast<int>(body.size()))) {
      break;
    }
    bool first = at == kPrefixBytes;
    if (first != record.has_header()) break;
    if (first) {
      contents.header = std::move(*record.mutable_header());
    } else {
      contents.records.push_back(std::move(record));
    }
    at += kRecordHeaderBytes + length;
    contents.readable_bytes = at;
  }
  contents.whole = at == bytes.size() && at > kPrefixBytes;
  return contents;
}

Result<JournalContents> Journal::read(const std::string& path) {
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return JournalContents{};
  if (!file) return failure_from_errno(path, errno);
  std::string bytes;
  struct stat info {};
  if (::fstat(file.get(), &info) == 0) bytes.reserve(static_cast<size_t>(info.st_size));
  char buffer[65536];
  for (;;) {
    ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure_from_errno(path, errno);
    if (count == 0) break;
    bytes.append(buffer, static_cast<size_t>(count));
  }
  auto contents = parse_journal(bytes);
  if (!contents) return failure(path + ": " + contents.error().message, contents.error().code);
  return contents;
}

Result<Journal> Journal::create(const std::string& path, const JournalHeader& header,
                                const std::vector<JournalRecord>& records) {
  Journal journal;
  journal.path_ = path;
  journal.header_ = header;
  journal.header_.set_version(kJournalVersion);
  if (auto status = journal.rewrite(records); !status) return failure(status.error());
  return journal;
}

Result<Journal> Journal::resume(const std::string& path, const JournalContents& contents) {
  MINKE_CHECK(contents.whole && contents.readable_bytes > 0);
  Journal journal;
  journal.path_ = path;
  journal.header_ = contents.header;
  journal.file_ = os::UniqueFd(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (!journal.file_) return failure_from_errno(path, errno);
  journal.bytes_ = journal.bytes_when_rewritten_ = contents.readable_bytes;
  return journal;
}

Status Journal::append(const JournalRecord& record) {
  std::string bytes = encode_record(record);
  // Reading would stop at a partial record and never see what follows it.
  const auto cut = [this] { return ::ftruncate(file_.get(), static_cast<off_t>(bytes_)) == 0; };
  if (cut_off_ && !cut()) {
    incomplete_ = true;
    return failure_from_errno("cannot write the launcher's journal", errno);
  }
  cut_off_ = false;
  auto status = write_all(file_.get(), bytes);
  if (!status) {
    incomplete_ = true;
    cut_off_ = !cut();
    return status;
  }
  bytes_ += bytes.size();
  unsynced_ = true;
  return {};
}

Status Journal::sync() {
  if (!unsynced_) return {};
  if (::fdatasync(file_.get()) != 0) return failure_from_errno("cannot sync the launcher's journal", errno);
  unsynced_ = false;
  return {};
}

Status Journal::rewrite(const std::vector<JournalRecord>& records) {
  std::string fresh_path = path_ + ".new";
  const auto failed = [&fresh_path](Status why) {
    ::unlink(fresh_path.c_str());  // it would take up space
    return why;
  };
  os::UniqueFd fresh(::open(fresh_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!fresh) return failure_from_errno(fresh_path, errno);
  std::string bytes = prefix();
  JournalRecord first;
  *first.mutable_header() = header_;
  bytes += encode_record(first);
  for (const JournalRecord& record : records) bytes += encode_record(record);
  if (auto status = write_all(fresh.get(), bytes); !status) return failed(status);
  if (::fsync(fresh.get()) != 0) return failed(failure_from_errno(fresh_path, errno));
  if (std::rename(fresh_path.c_str(), path_.c_str()) != 0) return failed(failure_from_errno(path_, errno));
  file_ = std::move(fresh);
  incomplete_ = cut_off_ = false;
  bytes_ = bytes_when_rewritten_ = bytes.size();
  std::string directory = path_.substr(0, path_.find_last_of('/') + 1);
  os::UniqueFd parent(
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fsync(parent.get()) != 0) return failure_from_errno(directory, errno);
  unsynced_ = false;
  return {};
}

bool Journal::overgrown() const {
  return bytes_ > kSmallestWorthRewriting && bytes_ > 2 * bytes_when_rewritten_;
}

}  // namespace minke::node
