#include "search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minke::search {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Status check(const Plan& plan) {
  if (plan.space.empty()) return failure("there are no parameters to choose");
  if (plan.early_stop && (plan.halving || plan.population))
    return failure("early_terminate and population exclude each other");
  if (plan.halving && plan.population) return failure("early_terminate and population exclude each other");
  if (plan.early_stop) {
    if (const Status checked = check(*plan.early_stop); !checked) return checked;
  }
  if (plan.halving) {
    if (const Status checked = check(*plan.halving); !checked) return checked;
  }
  if (plan.population) {
    if (const Status checked = check(*plan.population); !checked) return checked;
    if (plan.sampler.method != Method::kRandom)
      return failure("a population begins at random: method: random");
  }
  if (plan.sampler.method != Method::kGrid) return {};
  for (size_t i = 0; i < plan.space.size(); ++i) {
    if (plan.space.count(i) == 0)
      return failure("a grid needs values that can be counted: parameter " + plan.space.parameters()[i].name +
                     " has none; give it values or q, or write method: random");
  }
  return {};
}

// The population knows the space of the plan, which stays where it is: a search is neither copied nor moved.
Search::Search(Plan plan) : plan_(std::move(plan)) {
  if (plan_.early_stop) early_stopping_.emplace(*plan_.early_stop);
  if (plan_.halving) halving_.emplace(*plan_.halving);
  if (plan_.population) population_.emplace(plan_.space, *plan_.population, plan_.sampler.seed);
}

size_t Search::running() const {
  return static_cast<size_t>(std::count_if(trials_.begin(), trials_.end(),
                                           [](const auto& one) { return one.second.fate == Fate::kRuns; }));
}

const Trial* Search::best() const {
  const Trial* best = nullptr;
  for (const auto& [number, trial] : trials_) {
    if (trial.value && (best == nullptr || loss(*trial.value) < loss(*best->value))) best = &trial;
  }
  return best;
}

bool Search::target_is_met() const {
  const Trial* found = best();
  return plan_.target && found != nullptr && loss(*found->value) <= loss(*plan_.target);
}

double Search::imputed(Impute impute, const Trial& trial) const {
  if (impute == Impute::kLatest && trial.latest) return loss(*trial.latest);
  std::optional<double> worst, best;
  for (const auto& [number, other] : trials_) {
    if (!other.value) continue;
    const double one = loss(*other.value);
    worst = worst ? std::max(*worst, one) : one;
    best = best ? std::min(*best, one) : one;
  }
  if (!worst) return kNone;
  return impute == Impute::kBest ? *best : *worst;
}

// In the order of the trials. Where trials have trained for different times, those count that have trained
// longest, once there are enough of them (BOHB).
std::vector<Observation> Search::history() const {
  uint64_t budget = 0;
  if (plan_.halving) {
    std::map<uint64_t, size_t> counts;
    for (const auto& [number, trial] : trials_)
      for (const auto& [at, value] : trial.at_budget) ++counts[at];
    for (const auto& [at, count] : counts) {
      if (budget == 0 || count >= plan_.space.size() + 2) budget = at;
    }
  }
  std::vector<Observation> all;
  for (const auto& [number, trial] : trials_) {
    Observation one{trial.point, kNone};
    if (plan_.halving) {
      if (const auto at = trial.at_budget.find(budget); at != trial.at_budget.end())
        one.value = loss(at->second);
      if (trial.fate == Fate::kFailed && std::isnan(one.value)) one.value = imputed(plan_.impute, trial);
    } else if (trial.fate == Fate::kRuns) {
      if (plan_.impute_while_running) one.value = imputed(*plan_.impute_while_running, trial);
    } else {
      one.value = trial.value ? loss(*trial.value) : imputed(plan_.impute, trial);
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::optional<Assignment> Search::next() const {
  if (target_is_met()) return std::nullopt;
  if (population_) {
    const auto step = population_->next();
    if (!step) return std::nullopt;
    return Assignment{step->member, step->budget, step->point, step->source};
  }
  if (halving_) {
    if (const auto promotion = halving_->promotion())
      return Assignment{promotion->trial, promotion->budget, trials_.at(promotion->trial).point,
                        std::nullopt};
  }
  if (plan_.trials > 0 && trials_.size() >= plan_.trials) return std::nullopt;
  const auto point = suggest(plan_.space, plan_.sampler, history(), trials_.size());
  if (!point) return std::nullopt;
  const uint64_t number = trials_.empty() ? 1 : trials_.rbegin()->first + 1;
  return Assignment{number, halving_ ? halving_->first_budget() : 0, *point, std::nullopt};
}

void Search::restore(const Assignment& assignment) {
  Trial& trial = trials_[assignment.trial];
  trial.number = assignment.trial;
  trial.point = assignment.point;
  trial.budget = assignment.budget;
  trial.fate = Fate::kRuns;
  if (halving_) halving_->assign(assignment.trial, assignment.budget);
  if (population_)
    population_->assign({assignment.trial, assignment.budget, assignment.point, assignment.source});
}

void Search::report(uint64_t number, uint64_t count, double best, double latest) {
  const auto found = trials_.find(number);
  if (found == trials_.end() || !std::isfinite(best)) return;
  Trial& trial = found->second;
  if (!trial.value || loss(best) < loss(*trial.value)) trial.value = best;
  if (std::isfinite(latest)) trial.latest = latest;
  if (early_stopping_) early_stopping_->report(number, count, loss(*trial.value));
}

bool Search::should_stop(uint64_t trial) const {
  const auto found = trials_.find(trial);
  if (found == trials_.end() || found->second.fate != Fate::kRuns) return false;
  return early_stopping_ && early_stopping_->should_stop(trial);
}

void Search::tell(uint64_t number, End end, std::optional<double> given) {
  const auto found = trials_.find(number);
  if (found == trials_.end()) return;
  Trial& trial = found->second;
  const double value = given.value_or(kNone);
  const bool has_value = std::isfinite(value);
  if (has_value) {
    trial.latest = value;
    if (!trial.value || loss(value) < loss(*trial.value)) trial.value = value;
    trial.at_budget[trial.budget] = value;
  }
  const bool failed = end == End::kFailed || (!has_value && end == End::kComplete && plan_.has_metric);
  trial.fate = failed ? Fate::kFailed : end == End::kStopped ? Fate::kStopped : Fate::kDone;
  const double judged =
      has_value && end == End::kComplete ? loss(value) : std::numeric_limits<double>::infinity();
  if (halving_) {
    halving_->tell(number, trial.budget, judged);
    if (trial.fate == Fate::kDone && trial.budget < plan_.halving->max) trial.fate = Fate::kPaused;
  }
  if (population_) {
    population_->tell(number, judged);
    if (trial.fate == Fate::kDone && trial.budget < plan_.population->max) trial.fate = Fate::kPaused;
  }
}

bool Search::is_done() const {
  return running() == 0 && !next();
}

}  // namespace minke::search
