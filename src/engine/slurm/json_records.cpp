#include "engine/slurm/json_records.h"

#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace minke::engine::slurm {
namespace {

using nlohmann::json;

constexpr size_t kMostValues = 500'000;  // of one record
constexpr size_t kMostTextBytes = size_t{64} << 20;
constexpr size_t kDeepest = 60;

// The text as an input iterator; at its end, and where it cannot be read, it equals the default one.
class Bytes {
 public:
  struct Source {
    const NextBytes& next;
    std::vector<char> buffer = std::vector<char>(size_t{64} << 10);
    size_t at = 0, end = 0;
    Status outcome;
    bool over = false;

    void fill() {
      const auto got = next(buffer.data(), buffer.size());
      if (!got) outcome = failure(got.error());
      at = 0;
      end = got ? *got : 0;
      over = end == 0;
    }
  };
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Bytes() = default;
  explicit Bytes(Source& source) : source_(&source) { source.fill(); }
  const char& operator*() const { return source_->buffer[source_->at]; }
  Bytes& operator++() {
    if (++source_->at == source_->end) source_->fill();
    return *this;
  }
  Bytes operator++(int) {
    Bytes before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Bytes& a, const Bytes& b) { return a.at_end() == b.at_end(); }
  friend bool operator!=(const Bytes& a, const Bytes& b) { return !(a == b); }

 private:
  bool at_end() const { return source_ == nullptr || source_->over; }
  Source* source_ = nullptr;
};

// Builds the records of the list, and passes over all else.
class Collector final : public nlohmann::json_sax<json> {
 public:
  Collector(const std::string& list, const std::function<Status(const json&)>& take)
      : list_(list), take_(take) {}

  Status outcome;
  bool found = false;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override {
    bytes_ += value.size();
    return put(std::move(value));
  }
  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
  bool start_array(std::size_t /*elements*/) override {
    if (depth_ == 1 && key_ == list_) {
      found = in_list_ = true;
      ++depth_;
      return true;
    }
    return open(json::array());
  }
  bool key(string_t& value) override {
    bytes_ += value.size();
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& problem) override {
    return fail(std::string("it is no JSON: ") + problem.what());
  }

 private:
  bool fail(std::string problem) {
    if (outcome) outcome = failure(std::move(problem), EPROTO);
    return false;
  }
  json* put_into(json value) {
    json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    json& place = parent[std::exchange(key_, {})];
    place = std::move(value);
    return &place;
  }
  bool put(json value) {
    if (stack_.empty()) return true;
    if (++values_ > kMostValues || bytes_ > kMostTextBytes) return fail("a record is too large");
    put_into(std::move(value));
    return true;
  }
  bool open(json value) {
    if (++depth_ > kDeepest) return fail("it is nested too deeply");
    if (!stack_.empty()) {
      if (++values_ > kMostValues) return fail("a record is too large");
      stack_.push_back(put_into(std::move(value)));
    } else if (in_list_ && depth_ == 3 && value.is_object()) {
      record_ = std::move(value);
      values_ = bytes_ = 0;
      stack_.push_back(&record_);
    }
    return true;
  }
  bool close() {
    --depth_;
    if (in_list_ && depth_ == 1) in_list_ = false;
    if (stack_.empty()) return true;
    stack_.pop_back();
    if (!stack_.empty()) return true;
    outcome = take_(record_);
    return outcome.has_value();
  }

  const std::string& list_;
  const std::function<Status(const json&)>& take_;
  json record_;
  std::vector<json*> stack_;  // what is open of the record, outermost first
  std::string key_;
  size_t depth_ = 0, values_ = 0, bytes_ = 0;
  bool in_list_ = false;
};

}  // namespace

Status read_json_records(const NextBytes& next, const std::string& list,
                         const std::function<Status(const json& record)>& take) {
  Bytes::Source source{.next = next};
  Collector collector(list, take);
  const bool parsed = json::sax_parse(Bytes(source), Bytes(), &collector, json::input_format_t::json, false);
  if (!source.outcome) return source.outcome;
  if (!collector.outcome) return collector.outcome;
  if (!parsed) return failure("it is no JSON", EPROTO);
  if (!collector.found) return failure("it has no list \"" + list + "\"", ENOENT);
  return {};
}

}  // namespace minke::engine::slurm
