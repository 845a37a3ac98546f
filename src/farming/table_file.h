// A farm's table as a file of lines, of which a case is found by its number. It only ever grows. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::farming {

class TableFile {
 public:
  static Result<TableFile> open(const std::string& path);
  TableFile(TableFile&& other) noexcept;
  TableFile& operator=(TableFile&&) = delete;
  ~TableFile();

  // The line without its end, from 1; valid until the next call. Error: there is none.
  Result<std::string_view> line(uint64_t number);
  uint64_t lines();                          // whole ones; reads all of it
  Result<uint64_t> end_of(uint64_t number);  // the first byte behind that line; 0 for line 0

 private:
  explicit TableFile(std::string path) : path_(std::move(path)) {}
  Status map();
  Result<uint64_t> begin_of(uint64_t number);

  std::string path_;
  const char* bytes_ = nullptr;
  uint64_t size_ = 0;
  std::vector<uint64_t> marks_ = {0};  // where lines 1, 1 + kStep, 1 + 2 kStep … begin
  // Where the reading was last: most cases come in order.
  uint64_t at_line_ = 1, at_byte_ = 0;
};

}  // namespace minke::farming
