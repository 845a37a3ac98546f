// Forecasts of the daemon are made in slices, between which others are answered. A slice is a piece of a long
// answer (server/flow_control.h), and is charged to the turns of the user who asked. To begin one, with
// copies of the state, takes a piece of its own. State's thread.
#pragma once

#include <memory>
#include <vector>

#include "sched/forecast.h"

namespace minke::engine {

// Goes on with it for some milliseconds at most. True: it is finished.
bool go_on_for_a_slice(sched::ForecastInPieces& forecast);

// The forecast for the first entries of the queue, which all share who ask at that time. It tells of the
// state in which it was begun. Whoever waits for it goes on with it; if he goes away, the next one does.
class QueueForecast {
 public:
  explicit QueueForecast(sched::ForecastInPieces forecast) : forecast_(std::move(forecast)) {}

  // A slice. True: it is finished.
  bool go_on() { return go_on_for_a_slice(forecast_); }
  const std::vector<sched::ExpectedStart>& starts() const { return forecast_.starts(); }

 private:
  sched::ForecastInPieces forecast_;
};

}  // namespace minke::engine
