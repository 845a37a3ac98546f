// The output of --json and --yaml: a document of nested values, written as described, in either language.
//
// It keeps only the text, so that a queue of any length costs only its output. Input keys and texts
// need not be UTF-8; the document always is: other bytes become U+FFFD. Callers must open and close in
// pairs. Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::view {

enum class DocumentFormat { kJson, kYaml };

class Document {
 public:
  explicit Document(DocumentFormat format) : format_(format) { open(false); }

  // In an object every value has a key; in an array the key is empty.
  void begin_object(std::string_view key = {});
  void begin_array(std::string_view key = {});
  void end();

  void text(std::string_view key, std::string_view value);
  void integer(std::string_view key, int64_t value);
  void boolean(std::string_view key, bool value);
  void real(std::string_view key, double value);
  // Writes a number that may be missing or infinite, as Slurm does: {"set", "infinite", "number"}.
  void number(std::string_view key, std::optional<int64_t> value, bool infinite = false);
  void real_number(std::string_view key, std::optional<double> value);

  // Writes a value of an array.
  void text(std::string_view value) { text({}, value); }

  // Returns what was written since the last take(): for writing a long document in pieces.
  std::string take();
  size_t size() const { return out_.size(); }  // of what take() would give
  // Closes the document; take() has its end afterwards.
  void finish();

 private:
  struct Level {
    bool array;
    bool empty = true;
  };
  void open(bool array);
  void before_value(std::string_view key);  // separator, indentation, key
  void quoted(std::string_view value);
  void indent(size_t levels) { out_.append(2 * levels, ' '); }

  DocumentFormat format_;
  std::vector<Level> levels_;
  std::string out_;
};

}  // namespace minke::view
