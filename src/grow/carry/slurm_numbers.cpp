#include "grow/carry/slurm_numbers.h"

#include "text/number.h"

namespace minke::grow {
namespace {

uint32_t id_of(const std::string& cell) {
  return static_cast<uint32_t>(text::parse_unsigned(cell, 0xffffffff).value_or(0));
}

}  // namespace

Result<SlurmNumbers> slurm_numbers(const Database& database, const std::string& cluster) {
  SlurmNumbers numbers;
  const auto tres = database.ask("SELECT id, type, IFNULL(name, '') FROM tres_table WHERE deleted = 0");
  if (!tres) return failure(tres.error());
  for (const auto& row : *tres) {
    if (row.size() == 3) numbers.tres[row[1] + (row[2].empty() ? "" : "/" + row[2])] = id_of(row[0]);
  }
  const auto places = database.ask("SELECT id_assoc, acct, user, `partition` FROM " +
                                   sql_name(cluster + "_assoc_table") + " WHERE deleted = 0");
  if (!places) return failure(places.error());
  for (const auto& row : *places) {
    if (row.size() == 4) numbers.associations[{row[1], row[2], row[3]}] = id_of(row[0]);
  }
  const auto qos = database.ask("SELECT id, name FROM qos_table WHERE deleted = 0");
  if (!qos) return failure(qos.error());
  for (const auto& row : *qos) {
    if (row.size() == 2) numbers.qos[row[1]] = id_of(row[0]);
  }
  return numbers;
}

}  // namespace minke::grow
