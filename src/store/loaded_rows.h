// The rows of the tables of records as a daemon finds them at its start, and the one place that handles
// unreadable ones: read() returns the sound rows of a kind and keeps the others apart; reject() does so with
// a row that its owner cannot use. The loader then sets aside what is in damaged() (Batch::set_aside).
//
// One thread.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "store/tables.h"

namespace minke::store {

class LoadedRows {
 public:
  void add(Table table, RowKey key, std::string record) {
    rows_[static_cast<size_t>(table)].emplace_back(std::move(key), std::move(record));
  }
  bool empty() const;

  // In the order of their keys.
  template <typename Record, typename By>
  std::vector<Record> read(const RecordTable<Record, By>& table) {
    std::vector<Record> records;
    for (const auto& [key, bytes] : rows_[static_cast<size_t>(table.table)]) {
      Record record;
      if (record.ParseFromString(bytes) && row_key(By::of(record)) == key) {
        records.push_back(std::move(record));
      } else {
        reject({.table = table.table, .key = key, .record = bytes});
      }
    }
    return records;
  }

  void reject(DamagedRow row);
  // Rejects a row that was read but is useless. Does nothing if there is none, or it was rejected before.
  void reject(Table table, const RowKey& key);
  const std::vector<DamagedRow>& damaged() const { return damaged_; }

 private:
  std::array<std::vector<std::pair<RowKey, std::string>>, kTableCount> rows_;
  std::vector<DamagedRow> damaged_;
};

}  // namespace minke::store
