#include "node/launch_memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace minke::node {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;  // untouched pages cost nothing
constexpr size_t kPageBytes = 4096;

void* map_shared(size_t bytes) {
  void* start =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  return start;
}

}  // namespace

LaunchMemory::~LaunchMemory() {
  for (const Piece& piece : pieces_) ::munmap(piece.start, piece.bytes);
}

void* LaunchMemory::take(size_t bytes, size_t alignment) {
  size_t at = (used_ + alignment - 1) / alignment * alignment;
  if (pieces_.empty() || at + bytes > pieces_.back().bytes) {
    const size_t wanted = (std::max(bytes, kPieceBytes) + kPageBytes - 1) / kPageBytes * kPageBytes;
    pieces_.reserve(pieces_.size() + 1);
    pieces_.push_back({static_cast<char*>(map_shared(wanted)), wanted});
    at = 0;
  }
  used_ = at + bytes;
  return pieces_.back().start + at;
}

char* LaunchMemory::text(std::string_view text) {
  char* copy = static_cast<char*>(take(text.size() + 1, 1));
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

ReportPool::~ReportPool() {
  for (void* page : pages_) ::munmap(page, kPageBytes);
}

ChildReport* ReportPool::take() {
  if (free_.empty()) {
    pages_.reserve(pages_.size() + 1);
    auto* reports = static_cast<ChildReport*>(map_shared(kPageBytes));
    pages_.push_back(reports);
    for (size_t i = 0; i < kPageBytes / sizeof(ChildReport); ++i) free_.push_back(reports + i);
  }
  ChildReport* report = free_.back();
  free_.pop_back();
  return new (report) ChildReport();
}

}  // namespace minke::node
