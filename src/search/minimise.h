// Minimises a smooth function in a box, from its gradient: BFGS (Nocedal and Wright, Numerical Optimization,
// 2006, chapter 6), with steps projected onto the box. For few dimensions. Pure; any thread.
#pragma once

#include <functional>
#include <vector>

namespace minke::search {

// Returns the value at `x`, and sets `gradient`, which has the size of x.
using Smooth = std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

struct Box {
  std::vector<double> low, high;
};

struct Minimum {
  std::vector<double> x;
  double value = 0;
};

// Begins at `start`, moved into the box; finds a local minimum. The result is never worse than the start.
// Calls the function 4 * `iterations` times at most.
Minimum minimise(const Smooth& function, std::vector<double> start, const Box& box, int iterations);

}  // namespace minke::search
