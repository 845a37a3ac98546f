// The rows of the tables of records as a daemon finds them at its start, and the one door for what cannot be
// read: read() gives the sound rows of a kind, and keeps the others apart; so does reject() with a row that
// its owner cannot use. Whoever loads them sets aside what is in damaged() then (Batch::set_aside).
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
  // A row that was read and is of no use. Nothing where there is no such row, or it was rejected before.
  void reject(Table table, const RowKey& key);
  const std::vector<DamagedRow>& damaged() const { return damaged_; }

 private:
  std::array<std::vector<std::pair<RowKey, std::string>>, kTableCount> rows_;
  std::vector<DamagedRow> damaged_;
};

}  // namespace minke::store
