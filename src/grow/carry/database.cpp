#include "grow/carry/database.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "grow/carry/utf8.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/program_output.h"
#include "text/hex.h"
#include "text/number.h"

namespace minke::grow {
namespace {

constexpr std::chrono::seconds kPatience{600};
constexpr size_t kLongestConfiguration = size_t{1} << 20;

Result<os::UniqueFd> file_of(const std::string& text) {
  os::UniqueFd file(::memfd_create("minke-sql", MFD_CLOEXEC));
  if (!file) return failure_from_errno("memfd_create", errno);
  for (size_t written = 0; written < text.size();) {
    const ssize_t done = ::write(file.get(), text.data() + written, text.size() - written);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure_from_errno("statements for the data base", errno);
    written += static_cast<size_t>(done);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failure_from_errno("lseek", errno);
  return file;
}

// As MariaDB's option files take it.
std::string option_value(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The client's batch form writes a tabulator, a line's end and a backslash in a value as two characters.
std::string unescaped(std::string_view cell) {
  std::string out;
  for (size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\' || i + 1 == cell.size()) {
      out += cell[i];
      continue;
    }
    const char c = cell[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c == '0' ? '\0' : c;
  }
  return out;
}

}  // namespace

std::string value_in_configuration(std::string_view configuration, std::string_view key) {
  std::string found;
  for (std::string_view line : text::split(configuration, '\n')) {
    line = text::trim(line.substr(0, line.find('#')));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos ||
        !text::equals_ignoring_case(text::trim(line.substr(0, equals)), key))
      continue;
    std::string_view value = text::trim(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    found = value;
  }
  return found;
}

std::string sql_text(std::string_view text) {
  if (text.empty()) return "''";
  return "_utf8mb4 X'" + text::to_hex(as_utf8(text)) + "'";
}

std::string sql_name(std::string_view name) {
  const bool sound = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return text::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
           c == '.';
  });
  return sound ? "`" + std::string(name) + "`" : std::string();
}

Result<Database> Database::open(const NewSlurm& slurm, const std::string& directory) {
  const auto configuration = os::read_file(slurm.database_configuration, kLongestConfiguration);
  if (!configuration)
    return failure(slurm.database_configuration + ": " + configuration.error().message,
                   configuration.error().code);
  const auto value = [&](std::string_view key, std::string_view otherwise) {
    std::string found = value_in_configuration(*configuration, key);
    return found.empty() ? std::string(otherwise) : found;
  };
  Database database;
  for (const char* name : {"mariadb", "mysql"}) {
    const std::string program = slurm.programs + "/" + name;
    if (::access(program.c_str(), X_OK) == 0) {
      database.program_ = program;
      break;
    }
  }
  if (database.program_.empty())
    return failure("this machine has no mariadb in " + slurm.programs + ": install mariadb-client", ENOENT);
  database.options_file_ = directory + "/database.cnf";
  std::string options = "[client]\nhost=" + option_value(value("StorageHost", "localhost")) +
                        "\nport=" + value("StoragePort", "3306") +
                        "\nuser=" + option_value(value("StorageUser", "slurm")) + "\n";
  if (const std::string password = value("StoragePass", ""); !password.empty())
    options += "password=" + option_value(password) + "\n";
  options += "[mysql]\ndatabase=" + option_value(value("StorageLoc", "slurm_acct_db")) + "\n";
  if (const Status kept = os::replace_file(database.options_file_, options, 0600); !kept)
    return failure(kept.error());
  return database;
}

Result<std::string> Database::run(const std::string& sql) const {
  const auto input = file_of(sql);
  if (!input) return failure(input.error());
  auto output = os::ProgramOutput::start({program_, "--defaults-file=" + options_file_, "--batch",
                                          "--skip-column-names", "--default-character-set=utf8mb4"},
                                         {.timeout = kPatience, .input = input->get()});
  if (!output) return failure(output.error());
  std::string said;
  char buffer[size_t{64} << 10];
  for (;;) {
    const auto got = output->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    said.append(buffer, *got);
  }
  const auto ended = output->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code != 0)
    return failure("MariaDB refuses: " + std::string(text::trim(ended->complaint)).substr(0, 500));
  return said;
}

Result<Database::Rows> Database::ask(const std::string& sql) const {
  const auto said = run(sql + ";\n");
  if (!said) return failure(said.error());
  Rows rows;
  for (const std::string_view line : text::split(*said, '\n')) {
    if (line.empty()) continue;
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::string_view cell : text::split(line, '\t')) row.push_back(unescaped(cell));
  }
  return rows;
}

Status Database::change(const std::string& statements) const {
  const auto said = run("START TRANSACTION;\n" + statements + "COMMIT;\n");
  return said ? Status() : Status(failure(said.error()));
}

}  // namespace minke::grow
