// The output of --json and --yaml: a document of nested values, written as described, in either language.
//
// It keeps only the text, so that a queue of any length costs only its output. Input keys and texts
// need not be UTF-8; the document always is: other bytes become U+FFFD. Callers must open and close in
// pairs. Pure; one thread.
//
// A document of a known record follows its shape (shape_tables.h) in the version that was asked for. What
// that does not have is left out, what the caller does not tell is written as unset, and a value gets the
// type that the version gives it: who describes a record names its values, and need not know what each
// version does with them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::view {

struct Shape;

// kDenseJson: without blanks and line ends, for programs; half as long.
enum class DocumentFormat { kJson, kYaml, kDenseJson };

// The shape: N of Slurm's data_parser/v0.0.N. The one that the spoken release has by itself, unless a command
// was asked for another: each thread for itself.
inline constexpr int kOldestParser = 40, kNewestParser = 45;
int data_parser();
void use_data_parser(int version);

class Document {
 public:
  // `record` is the name of what the whole document is ("openapi_job_info_resp"); if empty, anything may be
  // written.
  explicit Document(DocumentFormat format, std::string_view record = {});

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
  void real_number(std::string_view key, std::optional<double> value, bool infinite = false);

  // Writes a value of an array.
  void text(std::string_view value) { text({}, value); }
  // Whether an object of this key may be written here, for values that have a form of their own in a version.
  bool has_object(std::string_view key) const;

  // Returns what was written since the last take(): for writing a long document in pieces.
  std::string take();
  size_t size() const { return out_.size(); }  // of what take() would give
  // Closes the document; take() has its end afterwards.
  void finish();

 private:
  struct Level {
    bool array;
    bool empty = true;
    const Shape* shape = nullptr;  // of this object or array; nullptr: anything
    size_t next = 0;               // the member that is expected
    std::array<uint64_t, 4> seen = {};
  };
  // Where a value goes. It counts as told once it is written.
  struct Place {
    bool allowed;
    const Shape* shape = nullptr;
    size_t member = 0;
  };
  Place place(std::string_view key) const;
  void open(bool array, const Shape* shape);
  void begin(std::string_view key, bool array);
  void before_value(std::string_view key, const Place& place);  // separator, indentation, key
  void write_text(std::string_view key, const Place& place, std::string_view value);
  void write_integer(std::string_view key, const Place& place, int64_t value);
  void write_boolean(std::string_view key, const Place& place, bool value);
  void write_real(std::string_view key, const Place& place, double value);
  void write_number(std::string_view key, const Place& place, std::optional<int64_t> value, bool infinite);
  void write_real_number(std::string_view key, const Place& place, std::optional<double> value,
                         bool infinite);
  void write_words(std::string_view key, const Place& place, std::string_view list);
  void write_unset(const Place& place);
  void quoted(std::string_view value);
  void indent(size_t levels) { out_.append(2 * levels, ' '); }

  DocumentFormat format_;
  std::vector<Level> levels_;
  size_t left_out_ = 0;  // levels within something that this version does not have
  std::string out_;
};

}  // namespace minke::view
