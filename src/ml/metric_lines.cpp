// Metrics in lines: tables with a line of names (CSV, or with tabs or semicolons), and JSON lines.
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ml/metric_parsers.h"
#include "text/number.h"

namespace minke::ml {

namespace {

constexpr size_t kMaxLineBytes = size_t{1} << 20;
constexpr int kMaxDepth = 5;

std::optional<double> number_of(std::string_view text) {
  text = text::trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A column, or a member, that says when a line was written.
bool tells_time(std::string_view name) {
  const std::string word = text::lower_case(text::trim(name));
  return word == "timestamp" || word == "_timestamp" || word == "wall_time" || word == "time";
}

class LineParser : public MetricParser {
 public:
  Status feed(std::string_view bytes, MetricSet& metrics) override {
    buffer_.append(bytes);
    size_t at = 0;
    for (size_t end; (end = buffer_.find('\n', at)) != std::string::npos; at = end + 1) {
      std::string_view line = std::string_view(buffer_).substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_;
      if (line.empty()) continue;
      if (const Status read = read_line(line, metrics); !read) {
        buffer_.clear();
        return failure("line " + std::to_string(line_) + ": " + read.error().message);
      }
    }
    buffer_.erase(0, at);
    if (buffer_.size() > kMaxLineBytes)
      return failure("line " + std::to_string(line_ + 1) + " is longer than 1 MiB");
    return {};
  }
  size_t unread() const override { return buffer_.size(); }
  bool certain() const override { return has_steps_; }

 protected:
  virtual Status read_line(std::string_view line, MetricSet& metrics) = 0;
  bool has_steps_ = false;

 private:
  std::string buffer_;
  size_t line_ = 0;
};

class TableParser : public LineParser {
 private:
  Status read_line(std::string_view line, MetricSet& metrics) override {
    if (names_.empty()) {
      separator_ = line.find('\t') != std::string_view::npos  ? '\t'
                   : line.find(',') != std::string_view::npos ? ','
                   : line.find(';') != std::string_view::npos ? ';'
                                                              : ',';
      names_ = cells(line);
      for (size_t i = 0; i < names_.size(); ++i) {
        // "step" before "epoch": the finer of the two.
        const bool finer = step_ && text::lower_case(names_[*step_]) == "epoch";
        if (counts_steps(names_[i]) && (!step_ || finer)) step_ = i;
      }
      has_steps_ = step_.has_value();
      return {};
    }
    const std::vector<std::string> row = cells(line);
    if (row.size() > names_.size()) return failure("more columns than the first line names");
    std::optional<double> step;
    if (step_ && *step_ < row.size()) step = number_of(row[*step_]);
    metrics.set_time(0);
    for (size_t i = 0; i < row.size(); ++i)
      if (const auto time = tells_time(names_[i]) ? number_of(row[i]) : std::nullopt) metrics.set_time(*time);
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == step_) continue;
      if (const auto value = number_of(row[i]))
        metrics.add(text::trim(names_[i]), step ? &*step : nullptr, *value);
    }
    return {};
  }

  // Cells may stand in quotes, with "" for a quote in them; none has a line break.
  std::vector<std::string> cells(std::string_view line) const {
    std::vector<std::string> out(1);
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
        out.back() += line[i++];
      } else if (line[i] == '"') {
        quoted = !quoted;
      } else if (line[i] == separator_ && !quoted) {
        out.emplace_back();
      } else {
        out.back() += line[i];
      }
    }
    return out;
  }

  char separator_ = ',';
  std::vector<std::string> names_;
  std::optional<size_t> step_;
};

class JsonParser : public LineParser {
 private:
  Status read_line(std::string_view line, MetricSet& metrics) override {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) return failure("it is no JSON object");
    std::optional<double> step;
    std::string step_name;
    for (const auto& [name, value] : object.items()) {
      if (!value.is_number() || !counts_steps(name)) continue;
      if (step && text::lower_case(name) == "epoch") continue;
      step = value.get<double>();
      step_name = name;
    }
    has_steps_ |= step.has_value();
    metrics.set_time(0);
    for (const auto& [name, value] : object.items())
      if (value.is_number() && tells_time(name)) metrics.set_time(value.get<double>());
    add(object, "", step, step_name, metrics, 0);
    return {};
  }

  static void add(const nlohmann::json& object, const std::string& prefix, const std::optional<double>& step,
                  const std::string& step_name, MetricSet& metrics, int depth) {
    for (const auto& [name, value] : object.items()) {
      if (depth == 0 && (name == step_name || name.starts_with('_'))) continue;
      const std::string full = prefix.empty() ? name : prefix + "." + name;
      if (value.is_number()) metrics.add(full, step ? &*step : nullptr, value.get<double>());
      if (value.is_object() && depth < kMaxDepth) add(value, full, step, step_name, metrics, depth + 1);
    }
  }
};

}  // namespace

std::unique_ptr<MetricParser> make_table_parser() {
  return std::make_unique<TableParser>();
}
std::unique_ptr<MetricParser> make_json_parser() {
  return std::make_unique<JsonParser>();
}

}  // namespace minke::ml
