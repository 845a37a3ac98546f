#include "ml/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model/usage.pb.h"

namespace minke::ml {

namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

void append_utf8(std::string& out, uint32_t code) {  // of the Basic Multilingual Plane, from U+0800
  out += static_cast<char>(0xe0 | code >> 12);
  out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
  out += static_cast<char>(0x80 | (code & 0x3f));
}

}  // namespace

void MetricSet::add(std::string_view name, const double* step, double value) {
  if (name.empty() || name.size() > kMaxNameBytes || !std::isfinite(value)) return;
  auto place = places_.find(name);
  if (place == places_.end()) {
    if (series_.size() == kMaxSeries) return;
    place = places_.emplace(std::string(name), series_.size()).first;
    series_.push_back(
        {.name = std::string(name), .points = {}, .last = {}, .least = value, .largest = value});
  }
  Series& one = series_[place->second];
  one.has_steps |= step != nullptr && std::isfinite(*step);
  one.last = {step != nullptr && std::isfinite(*step) ? *step : static_cast<double>(one.seen), value, time_};
  one.least = std::min(one.least, value);
  one.largest = std::max(one.largest, value);
  if (one.seen++ % one.stride != 0) return;
  one.points.push_back(one.last);
  if (one.points.size() < kMaxPoints) return;
  for (size_t i = 0; 2 * i < one.points.size(); ++i) one.points[i] = one.points[2 * i];
  one.points.resize((one.points.size() + 1) / 2);
  one.stride *= 2;
}

const Series* MetricSet::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &series_[place->second];
}

void MetricSet::merge(const MetricSet& other) {
  for (const Series& one : other.series_) {
    const auto place = places_.find(one.name);
    if (place != places_.end()) {
      if (one.last.step >= series_[place->second].last.step) series_[place->second] = one;
    } else if (series_.size() < kMaxSeries) {
      places_.emplace(one.name, series_.size());
      series_.push_back(one);
    }
  }
}

google::protobuf::RepeatedPtrField<model::Metric> MetricSet::record(size_t most) const {
  google::protobuf::RepeatedPtrField<model::Metric> metrics;
  for (const Series& one : series_) {
    if (static_cast<size_t>(metrics.size()) == most) break;
    model::Metric& metric = *metrics.Add();
    metric.set_name(one.name);
    metric.set_last(one.last.value);
    metric.set_least(one.least);
    metric.set_largest(one.largest);
    const bool whole = one.has_steps && one.last.step >= 0 && one.last.step < 9e18;
    metric.set_step(whole ? static_cast<int64_t>(one.last.step) : -1);
    metric.set_points(one.seen);
  }
  return metrics;
}

std::string draw_curve(const Series& series, size_t width, size_t height) {
  if (series.points.empty() || width == 0 || height == 0) return {};
  double first = series.points.front().step, last = first;
  for (const Point& point : series.points) {
    first = std::min(first, point.step);
    last = std::max(last, point.step);
  }
  last = std::max(last, series.last.step);
  const double range = series.largest - series.least;
  const size_t columns = width * 2, rows = height * 4;
  std::vector<uint8_t> dots(width * height);
  // The dots of a cell, by row and column, are these bits from U+2800 on.
  static constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  const auto column_of = [&](const Point& point) {
    const double across = last > first ? (point.step - first) / (last - first) : 0;
    return std::min(columns - 1, static_cast<size_t>(across * static_cast<double>(columns - 1) + 0.5));
  };
  const auto draw = [&](size_t x, double value) {
    const double up = range > 0 ? (value - series.least) / range : 0.5;
    const auto y = std::min(rows - 1, static_cast<size_t>((1 - up) * static_cast<double>(rows - 1) + 0.5));
    dots[y / 4 * width + x / 2] |= kBits[y % 4][x % 2];
  };
  // A line joins points that are some columns apart.
  const auto join = [&](const Point& from, const Point& to) {
    const size_t begin = column_of(from), end = column_of(to);
    for (size_t x = begin + 1; x < end; ++x) {
      const double part = static_cast<double>(x - begin) / static_cast<double>(end - begin);
      draw(x, from.value + part * (to.value - from.value));
    }
    draw(end, to.value);
  };
  draw(column_of(series.points.front()), series.points.front().value);
  for (size_t i = 1; i < series.points.size(); ++i) join(series.points[i - 1], series.points[i]);
  join(series.points.back(), series.last);

  const std::string top = short_number(series.largest), bottom = short_number(series.least);
  const size_t margin = std::max(top.size(), bottom.size());
  std::string out;
  for (size_t row = 0; row < height; ++row) {
    const std::string label = row == 0 ? top : row + 1 == height ? bottom : "";
    out.append(margin - label.size(), ' ').append(label).append(" ");
    for (size_t cell = 0; cell < width; ++cell) append_utf8(out, 0x2800u + dots[row * width + cell]);
    out += '\n';
  }
  const std::string from = short_number(first), to = short_number(last);
  out.append(margin + 1, ' ').append(from);
  if (width > from.size() + to.size()) out.append(width - from.size() - to.size(), ' ');
  return out.append(to).append("\n");
}

}  // namespace minke::ml
