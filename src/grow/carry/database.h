// slurmdbd's data base, through MariaDB's own client: with the rights that slurmdbd.conf gives, and
// statements on its standard input. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grow/carry/carry.h"

namespace minke::grow {

class Database {
 public:
  // Reads slurmdbd.conf. `directory`: root's alone, for a file with the password.
  static Result<Database> open(const NewSlurm& slurm, const std::string& directory);

  using Rows = std::vector<std::vector<std::string>>;
  // The rows of a query; NULL is the text "NULL".
  Result<Rows> ask(const std::string& sql) const;
  // All statements, in one transaction.
  Status change(const std::string& statements) const;

 private:
  Result<std::string> run(const std::string& sql) const;

  std::string program_, options_file_;
};

// A text as SQL: in hexadecimal digits, so that no text can end it. Bytes that are no UTF-8 become '?'.
std::string sql_text(std::string_view text);
// "`name`"; empty: it is no name that Slurm or MariaDB would have given.
std::string sql_name(std::string_view name);
// The value of a key of slurmdbd.conf; empty: not there.
std::string value_in_configuration(std::string_view configuration, std::string_view key);

}  // namespace minke::grow
