// Population-based training (M. Jaderberg et al., Population Based Training of Neural Networks, 2017): all
// members train for an interval; then the worst take over the state of one of the best, with other parameters
// near its. Pure; one thread at a time.
//
// Generations are apart from each other: nobody trains while another's state is copied.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "search/space.h"

namespace minke::search {

struct PopulationSettings {
  size_t size = 10;        // members
  uint64_t interval = 1;   // what is trained in a generation: epochs, steps …
  uint64_t max = 1;        // and altogether
  double quantile = 0.25;  // so many are replaced, and so many replace them
  double resample = 0.25;  // chance that a parameter is drawn anew; else it is a factor of 0.8 or 1.2 away
};

Status check(const PopulationSettings& settings);

class Population {
 public:
  Population(const Space& space, const PopulationSettings& settings, uint64_t seed)
      : space_(space), settings_(settings), seed_(seed) {}

  struct Step {
    uint64_t member = 0, budget = 0;
    Point point;
    std::optional<uint64_t> source;  // whose state it takes over
  };
  // The next one to train: the members that are replaced come first. Nothing if all train, or all is done.
  std::optional<Step> next() const;

  void assign(const Step& step);
  // Not finite: it has failed.
  void tell(uint64_t member, double value);

 private:
  struct Member {
    Point point;
    uint64_t budget = 0;
    bool training = false;
    double value = 0;
  };
  Point explored(const Point& point, Random& random) const;
  Step following(size_t place, const std::vector<uint64_t>& order) const;

  const Space& space_;
  PopulationSettings settings_;
  uint64_t seed_;
  std::map<uint64_t, Member> members_;
  std::map<uint64_t, double> settled_;  // values at the end of the last whole generation
  std::map<uint64_t, Point> settled_points_;
  uint64_t settled_budget_ = 0;
};

}  // namespace minke::search
