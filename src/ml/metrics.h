// The metrics that a training program wrote: series of numbers by name.
//
// Bounded for any file: a long series is halved again and again, but least, largest and last value stay
// exact. One thread at a time.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace minke::model {
class Metric;
}  // namespace minke::model

namespace minke::ml {

struct Point {
  double step = 0;
  double value = 0;
  double time = 0;  // when it was written, s since the epoch; 0: the program did not say
};

struct Series {
  std::string name;
  std::vector<Point> points;  // in the order written
  uint64_t seen = 0;          // points written, kept or not
  uint64_t stride = 1;        // one of so many is kept
  bool has_steps = false;     // the program gave them; otherwise they are counted
  Point last;
  double least = 0, largest = 0;
};

class MetricSet {
 public:
  static constexpr size_t kMaxSeries = 1000;
  static constexpr size_t kMaxPoints = 4096;  // kept of one series
  static constexpr size_t kMaxNameBytes = 200;

  // When what is added next was written; what is no time of our days is none.
  void set_time(double time) { time_ = time >= 1e9 && time < 1e11 ? time : 0; }
  // `step` is null if the program gives none. Numbers that are not finite are left out.
  void add(std::string_view name, const double* step, double value);

  const std::vector<Series>& series() const { return series_; }  // in the order of first appearance
  const Series* find(std::string_view name) const;
  bool empty() const { return series_.empty(); }
  // Merges the metrics of another file; of a name in both, it keeps the series with the later end.
  void merge(const MetricSet& other);

  google::protobuf::RepeatedPtrField<model::Metric> record(size_t most) const;

 private:
  double time_ = 0;
  std::vector<Series> series_;
  std::map<std::string, size_t, std::less<>> places_;
};

// A curve as text: `height` lines of `width` cells, each of 2 x 4 dots, with the range at the left and the
// steps below. Empty for an empty series.
std::string draw_curve(const Series& series, size_t width, size_t height);

}  // namespace minke::ml
