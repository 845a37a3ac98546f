// The pictures of a sweep.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "search/importance.h"
#include "sweep/report.h"
#include "text/printable.h"
#include "text/svg.h"

namespace minke::sweep {

namespace {

using text::svg_number;
using text::svg_text;

constexpr double kWidth = 960, kHeight = 420, kLeft = 90, kRight = 40, kTop = 50, kBottom = 60;
constexpr size_t kMostLines = 500;  // trials in one picture

std::string shown(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string head(const std::string& title, double height = kHeight) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svg_number(kWidth) + " " +
         svg_number(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" +
         text::svg_escaped(title) +
         "</title>\n<style>.grid{stroke:#ccc;stroke-width:.5} "
         "polyline{fill:none;stroke-width:1.3;stroke-opacity:.75}"
         "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         svg_text(kLeft, 24, "start", title);
}

// From blue (the best) to orange (the worst).
std::string colour(double share) {
  const double at = std::clamp(share, 0.0, 1.0);
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", static_cast<unsigned>(11 + at * 200),
                static_cast<unsigned>(99 + at * 20), static_cast<unsigned>(181 - at * 150));
  return text.data();
}

// The ranks of trials by their value, from 0 (the best) to 1.
std::map<uint64_t, double> places(const Record& record) {
  std::vector<std::pair<double, uint64_t>> order;
  for (const auto& [number, trial] : record.search().trials()) {
    if (trial.value) order.emplace_back(record.search().loss(*trial.value), number);
  }
  std::sort(order.begin(), order.end());
  std::map<uint64_t, double> found;
  for (size_t i = 0; i < order.size(); ++i)
    found[order[i].second] =
        order.size() < 2 ? 0 : static_cast<double>(i) / static_cast<double>(order.size() - 1);
  return found;
}

struct Range {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

// Where a trial crosses the axis of a parameter, in [0, 1].
double height_at(const search::Space& space, size_t parameter, double coordinate) {
  const auto& one = space.parameters()[parameter];
  if (!one.is_category()) return coordinate;
  return one.values.size() < 2 ? 0.5 : coordinate / static_cast<double>(one.values.size() - 1);
}

std::string label(const search::Space& space, size_t parameter, bool top) {
  const auto& one = space.parameters()[parameter];
  const double at = !one.is_category() ? (top ? 0.999999 : 1e-6)
                    : top              ? static_cast<double>(one.values.size() - 1)
                                       : 0;
  const search::Value value = space.value(parameter, at);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? shown(*real) : search::python_text(value);
}

}  // namespace

std::string curves_svg(const Record& record, const std::vector<Curve>& curves) {
  Range steps, values;
  for (const Curve& curve : curves) {
    for (const ml::Point& point : curve.series.points) {
      steps.take(point.step);
      values.take(point.value);
    }
  }
  std::string out =
      head(record.file().metric + " of " + std::to_string(curves.size()) + " trials; blue ones are the best");
  for (int i = 0; i <= 4 && !curves.empty(); ++i) {
    const double y = kTop + (kHeight - kTop - kBottom) * i / 4;
    out += "<line class=\"grid\" x1=\"" + svg_number(kLeft) + "\" x2=\"" + svg_number(kWidth - kRight) +
           "\" y1=\"" + svg_number(y) + "\" y2=\"" + svg_number(y) + "\"/>\n";
    out += svg_text(kLeft - 8, y + 4, "end", shown(values.high - (values.high - values.low) * i / 4));
    out += svg_text(kLeft + (kWidth - kLeft - kRight) * i / 4, kHeight - kBottom + 20, "middle",
                    shown(steps.low + (steps.high - steps.low) * i / 4));
  }
  const auto place = places(record);
  size_t drawn = 0;
  for (const Curve& curve : curves) {
    if (++drawn > kMostLines) break;
    const auto at = place.find(curve.trial);
    out += "<polyline stroke=\"" + colour(at == place.end() ? 1 : at->second) + "\" points=\"";
    for (const ml::Point& point : curve.series.points)
      out += svg_number(kLeft + (kWidth - kLeft - kRight) * steps.share(point.step)) + "," +
             svg_number(kTop + (kHeight - kTop - kBottom) * (1 - values.share(point.value))) + " ";
    out += "\"><title>trial " + std::to_string(curve.trial) + "</title></polyline>\n";
  }
  return out + "</svg>\n";
}

std::string parallel_svg(const Record& record) {
  const search::Space& space = record.search().plan().space;
  const auto place = places(record);
  std::string out = head("parameters of " + std::to_string(place.size()) + " trials; blue ones are the best");
  const double step = (kWidth - kLeft - kRight) / static_cast<double>(std::max<size_t>(1, space.size()));
  Range values;
  for (const auto& [number, trial] : record.search().trials()) {
    if (trial.value) values.take(*trial.value);
  }
  const double room = kHeight - kTop - kBottom - 20, top = kTop + 20;
  const auto axis = [&](size_t i, const std::string& name, const std::string& high, const std::string& low) {
    const double x = kLeft + step * static_cast<double>(i);
    out += "<line class=\"grid\" x1=\"" + svg_number(x) + "\" x2=\"" + svg_number(x) + "\" y1=\"" +
           svg_number(top) + "\" y2=\"" + svg_number(top + room) + "\"/>\n" +
           svg_text(x, kHeight - 14, "middle", name) + svg_text(x, top - 6, "middle", high) +
           svg_text(x, top + room + 16, "middle", low);
  };
  for (size_t i = 0; i < space.size(); ++i)
    axis(i, space.parameters()[i].name, label(space, i, true), label(space, i, false));
  if (!place.empty()) axis(space.size(), record.file().metric, shown(values.high), shown(values.low));
  size_t drawn = 0;
  for (const auto& [number, trial] : record.search().trials()) {
    if (!trial.value || ++drawn > kMostLines) continue;
    out += "<polyline stroke=\"" + colour(place.at(number)) + "\" points=\"";
    for (size_t i = 0; i < space.size(); ++i) {
      if (std::isnan(trial.point[i])) continue;  // it passes by
      out += svg_number(kLeft + step * static_cast<double>(i)) + "," +
             svg_number(top + room * (1 - height_at(space, i, trial.point[i]))) + " ";
    }
    out += svg_number(kLeft + step * static_cast<double>(space.size())) + "," +
           svg_number(top + room * (1 - values.share(*trial.value))) + "\"><title>trial " +
           std::to_string(number) + "</title></polyline>\n";
  }
  return out + "</svg>\n";
}

// One row a parameter: the best tenth of the trials above all others.
std::string parallel_text(const Record& record, size_t width) {
  const search::Space& space = record.search().plan().space;
  const auto place = places(record);
  size_t longest = 4;
  for (const auto& parameter : space.parameters()) longest = std::max(longest, parameter.name.size());
  const size_t room = std::clamp<size_t>(width > longest + 30 ? width - longest - 30 : 10, 10, 60);
  std::string out;
  for (size_t i = 0; i < space.size(); ++i) {
    std::vector<int> cells(room, 0);
    for (const auto& [number, share] : place) {
      const double at = record.search().trials().at(number).point[i];
      if (std::isnan(at)) continue;
      const double height = std::clamp(height_at(space, i, at), 0.0, 1.0);
      int& cell = cells[std::min(room - 1, static_cast<size_t>(height * static_cast<double>(room)))];
      cell = std::max(cell, share <= 0.1 ? 2 : 1);
    }
    std::string name = space.parameters()[i].name, low = label(space, i, false);
    name.resize(std::max(longest, name.size()), ' ');
    low.resize(std::max<size_t>(10, low.size()), ' ');
    out += name + "  " + low + " ";
    for (const int cell : cells) out += cell == 2 ? "●" : cell == 1 ? "·" : " ";
    out += " " + label(space, i, true) + "\n";
  }
  return text::printable_lines(out + "● the best tenth of the trials   · others\n");
}

Result<std::string> importance_svg(const Record& record) {
  std::vector<search::Observation> history;
  for (const auto& [number, trial] : record.search().trials())
    history.push_back({trial.point, trial.value ? *trial.value : NAN});
  const auto found = search::importances(record.search().plan().space, history, 1);
  if (found.empty()) return failure("there are less than 4 trials with a value: ask again later");
  const double row = 26, height = kTop + row * static_cast<double>(found.size()) + 20;
  std::string out = head("importance of parameters for " + record.file().metric, height);
  for (size_t i = 0; i < found.size(); ++i) {
    const double y = kTop + row * static_cast<double>(i), x = 260;
    out +=
        svg_text(x - 10, y + 14, "end", record.search().plan().space.parameters()[found[i].parameter].name);
    out += "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) +
           "\" height=\"18\" fill=\"#0b63b5\" width=\"" +
           svg_number((kWidth - kRight - x - 60) * found[i].share) + "\"/>\n";
    out +=
        svg_text(x + (kWidth - kRight - x - 60) * found[i].share + 8, y + 14, "start", shown(found[i].share));
  }
  return out + "</svg>\n";
}

}  // namespace minke::sweep
