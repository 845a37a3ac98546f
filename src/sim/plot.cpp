#include "sim/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "text/svg.h"

namespace minke::sim {
namespace {

constexpr double kWidth = 960;
constexpr double kPanel = 220;  // height
constexpr double kLeft = 80, kRight = 20, kTop = 50, kGap = 60;
constexpr std::array<const char*, 4> kColours = {"#0b63b5", "#c2410c", "#15803d", "#7c3aed"};
constexpr std::array<const char*, 4> kDashes = {"", "6 3", "2 3", "10 3 2 3"};

std::string count(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

class Panel {
 public:
  Panel(double top, double most) : top_(top), most_(std::max(most, 1.0)) {}
  std::string frame(const std::string& title) const {
    std::string out = text::svg_text(kLeft, top_ - 8, "start", title);
    for (int i = 0; i <= 4; ++i) {
      const double y = top_ + kPanel * i / 4;
      out += "<line class=\"grid\" x1=\"" + text::svg_number(kLeft) + "\" x2=\"" +
             text::svg_number(kWidth - kRight) + "\" y1=\"" + text::svg_number(y) + "\" y2=\"" +
             text::svg_number(y) + "\"/>\n";
      out += text::svg_text(kLeft - 8, y + 4, "end", count(most_ * (4 - i) / 4));
    }
    return out;
  }
  std::string line(const std::vector<double>& values, std::size_t style) const {
    std::string out = "<polyline fill=\"none\" stroke=\"" + std::string(kColours[style % kColours.size()]) +
                      "\" stroke-dasharray=\"" + kDashes[style % kDashes.size()] + "\" points=\"";
    const double step = (kWidth - kLeft - kRight) / static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      out += text::svg_number(kLeft + step * (static_cast<double>(i) + 0.5)) + "," +
             text::svg_number(top_ + kPanel * (1 - std::min(values[i] / most_, 1.0))) + " ";
    }
    return out + "\"/>\n";
  }

 private:
  double top_;
  double most_;
};

std::string blocks(const std::vector<double>& values, double most) {
  static constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string row;
  for (const double value : values) {
    // Only zero is blank.
    const double level = most > 0 ? std::ceil(value / most * 8 - 1e-9) : 0;
    row += kBlocks[static_cast<std::size_t>(std::clamp(level, 0.0, 8.0))];
  }
  return row;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace

std::string svg_plot(const std::vector<NamedTimeline>& timelines, std::uint64_t processors,
                     const std::string& title) {
  double longest_queue = 0;
  std::int64_t begin = 0, end = 0;
  for (const NamedTimeline& one : timelines) {
    longest_queue = std::max(longest_queue, largest(one.timeline.waiting));
    begin = one.timeline.begin;
    end = std::max(end, one.timeline.end);
  }
  const double second = kTop + kPanel + kGap;
  const double height = second + kPanel + 70;
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + text::svg_number(kWidth) +
                    " " + text::svg_number(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" + text::svg_escaped(title) +
                    "</title>\n<style>.grid{stroke:#ccc;stroke-width:.5} polyline{stroke-width:1.5}</style>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += text::svg_text(kLeft, 20, "start", title);
  const Panel running(kTop, static_cast<double>(processors));
  const Panel waiting(second, longest_queue);
  out += running.frame("processors in use") + waiting.frame("jobs waiting");
  const double bottom = second + kPanel;
  const double days = static_cast<double>(end - begin) / 86400;
  for (int i = 0; i <= 5; ++i) {
    out += text::svg_text(kLeft + (kWidth - kLeft - kRight) * i / 5, bottom + 18, "middle",
                          "day " + count(days * i / 5));
  }
  for (std::size_t i = 0; i < timelines.size(); ++i) {
    // Each has an end of its own: the time axis is that of the longest.
    const Timeline& one = timelines[i].timeline;
    const double share = static_cast<double>(one.end - one.begin) /
                         static_cast<double>(std::max<std::int64_t>(1, end - begin));
    std::vector<double> used(one.running), queued(one.waiting);
    const auto bins =
        static_cast<std::size_t>(std::lround(static_cast<double>(used.size()) / std::max(share, 1e-3)));
    used.resize(std::max(bins, used.size()));
    queued.resize(used.size());
    out += running.line(used, i) + waiting.line(queued, i);
    const double x = kLeft + 180 * static_cast<double>(i);
    out += "<line x1=\"" + text::svg_number(x) + "\" x2=\"" + text::svg_number(x + 30) + "\" y1=\"" +
           text::svg_number(bottom + 42) + "\" y2=\"" + text::svg_number(bottom + 42) +
           "\" stroke-width=\"2\" stroke=\"" + kColours[i % kColours.size()] + "\" stroke-dasharray=\"" +
           kDashes[i % kDashes.size()] + "\"/>\n";
    out += text::svg_text(x + 38, bottom + 46, "start", timelines[i].name);
  }
  return out + "</svg>\n";
}

std::string terminal_plot(const Timeline& timeline, std::uint64_t processors) {
  const double days = static_cast<double>(timeline.end - timeline.begin) / 86400;
  return "in use   " + blocks(timeline.running, static_cast<double>(processors)) + "  of " +
         std::to_string(processors) + " processors\nwaiting  " +
         blocks(timeline.waiting, largest(timeline.waiting)) + "  at most " +
         count(largest(timeline.waiting)) + " jobs\n         over " + count(days) + " days\n";
}

}  // namespace minke::sim
