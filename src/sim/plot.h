// Plots a replay: SVG for a page, block characters for a terminal. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/summary.h"

namespace minke::sim {

struct NamedTimeline {
  std::string name;  // of the policy
  Timeline timeline;
};

// Processors in use and pending jobs over time, one line for each timeline. Lines differ in
// colour and in dashes.
std::string svg_plot(const std::vector<NamedTimeline>& timelines, std::uint64_t processors,
                     const std::string& title);

// Three rows of text for one timeline, as wide as it has bins: "running", "waiting", and the scale.
std::string terminal_plot(const Timeline& timeline, std::uint64_t processors);

}  // namespace minke::sim
