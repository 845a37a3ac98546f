#include "farming/table_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "os/fd.h"

namespace minke::farming {
namespace {

constexpr uint64_t kStep = 1024;

}  // namespace

TableFile::TableFile(TableFile&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::exchange(other.bytes_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      marks_(std::move(other.marks_)),
      at_line_(other.at_line_),
      at_byte_(other.at_byte_) {}

TableFile::~TableFile() {
  if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), size_);
}

Result<TableFile> TableFile::open(const std::string& path) {
  TableFile table(path);
  if (const Status mapped = table.map(); !mapped) return failure(mapped.error());
  return table;
}

Status TableFile::map() {
  const os::UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return failure_from_errno(path_, errno);
  if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), size_);
  bytes_ = nullptr;
  size_ = static_cast<uint64_t>(info.st_size);
  if (size_ == 0) return {};
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return failure_from_errno(path_, errno);
  bytes_ = static_cast<const char*>(mapped);
  return {};
}

// Counts on from the nearest place that is known.
Result<uint64_t> TableFile::begin_of(uint64_t number) {
  if (number == 0) return failure(path_ + " has no line 0");
  const uint64_t mark = std::min<uint64_t>((number - 1) / kStep, marks_.size() - 1);
  uint64_t line = mark * kStep + 1, at = marks_[mark];
  if (at_line_ <= number && at_line_ > line) {
    line = at_line_;
    at = at_byte_;
  }
  while (line < number) {
    const void* end = at < size_ ? std::memchr(bytes_ + at, '\n', size_ - at) : nullptr;
    if (end == nullptr) return failure(path_ + " has no line " + std::to_string(number));
    at = static_cast<uint64_t>(static_cast<const char*>(end) - bytes_) + 1;
    ++line;
    if ((line - 1) % kStep == 0 && (line - 1) / kStep == marks_.size()) marks_.push_back(at);
  }
  at_line_ = line;
  at_byte_ = at;
  return at;
}

Result<std::string_view> TableFile::line(uint64_t number) {
  for (bool again = false;; again = true) {
    const auto begin = begin_of(number);
    const void* end = begin && *begin < size_ ? std::memchr(bytes_ + *begin, '\n', size_ - *begin) : nullptr;
    if (end != nullptr)
      return std::string_view(bytes_ + *begin,
                              static_cast<size_t>(static_cast<const char*>(end) - bytes_) - *begin);
    if (again) return failure(path_ + " has no line " + std::to_string(number));
    if (const Status mapped = map(); !mapped) return failure(mapped.error());  // it has grown
  }
}

uint64_t TableFile::lines() {
  uint64_t number = at_line_;
  while (begin_of(number + kStep)) number = at_line_;
  while (begin_of(number + 1)) ++number;
  return number - 1;
}

Result<uint64_t> TableFile::end_of(uint64_t number) {
  if (number == 0) return uint64_t{0};
  return begin_of(number + 1);
}

}  // namespace minke::farming
