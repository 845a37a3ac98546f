#include "store/loaded_rows.h"

#include <algorithm>

namespace minke::store {

bool LoadedRows::empty() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const auto& rows) { return rows.empty(); });
}

void LoadedRows::reject(DamagedRow row) {
  damaged_.push_back(std::move(row));
}

void LoadedRows::reject(Table table, const RowKey& key) {
  for (const DamagedRow& row : damaged_)
    if (row.table == table && row.key == key) return;
  for (const auto& [known, record] : rows_[static_cast<size_t>(table)])
    if (known == key) return reject({.table = table, .key = key, .record = record});
}

}  // namespace minke::store
