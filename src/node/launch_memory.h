// LaunchMemory and ReportPool: memory that the launcher shares with the children of a launch. It has what the
// children need to start, and what they report.
//
// A child has no heap (node/spawn.h), so everything that it reads is copied here first. The mappings are
// shared, so that a fork does not copy them, and have the same address in every child.
//
// A LaunchMemory lives while the launcher prepares and forks; each child keeps its own mapping of it. The
// ReportPool lives as long as the launcher. One thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "node/spawn_child.h"

namespace minke::node {

class LaunchMemory {
 public:
  LaunchMemory() = default;
  ~LaunchMemory();
  LaunchMemory(const LaunchMemory&) = delete;
  LaunchMemory& operator=(const LaunchMemory&) = delete;

  // These throw std::bad_alloc if the kernel has no memory.
  char* text(std::string_view text);  // NUL-terminated
  template <typename T>
  T* array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* first = static_cast<T*>(take(count * sizeof(T), alignof(T)));
    for (size_t i = 0; i < count; ++i) new (first + i) T();
    return first;
  }
  template <typename T>
  T* copy(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    void* first = take(values.size_bytes(), alignof(T));
    if (!values.empty()) std::memcpy(first, values.data(), values.size_bytes());
    return static_cast<T*>(first);
  }

 private:
  void* take(size_t bytes, size_t alignment);

  struct Piece {
    char* start = nullptr;
    size_t bytes = 0;
  };
  std::vector<Piece> pieces_;
  size_t used_ = 0;  // of the last piece
};

class ReportPool {
 public:
  ReportPool() = default;
  ~ReportPool();
  ReportPool(const ReportPool&) = delete;
  ReportPool& operator=(const ReportPool&) = delete;

  ChildReport* take();                                              // a new one; throws std::bad_alloc
  void give_back(ChildReport* report) { free_.push_back(report); }  // no child may still write to it

 private:
  std::vector<void*> pages_;
  std::vector<ChildReport*> free_;
};

}  // namespace minke::node
