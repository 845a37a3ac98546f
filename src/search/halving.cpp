#include "search/halving.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace minke::search {

Status check(const Halving& settings) {
  if (settings.min < 1 || settings.max < settings.min)
    return failure("early_terminate: min_iter must be 1 at least, and max_iter no less than min_iter");
  if (settings.max > 1000000000) return failure("early_terminate: max_iter is a billion at most");
  if (!(settings.eta > 1) || !std::isfinite(settings.eta))
    return failure("early_terminate: eta must be more than 1");
  if (settings.brackets < 1 || settings.brackets > rungs(settings).size())
    return failure("early_terminate: there are " + std::to_string(rungs(settings).size()) +
                   " rungs from min_iter to max_iter, and no more brackets");
  return {};
}

std::vector<uint64_t> rungs(const Halving& settings) {
  std::vector<uint64_t> budgets;
  for (double budget = static_cast<double>(settings.min);; budget *= settings.eta) {
    const auto whole = static_cast<uint64_t>(std::llround(budget));
    if (whole >= settings.max) break;
    if (budgets.empty() || whole > budgets.back()) budgets.push_back(whole);
  }
  budgets.push_back(settings.max);
  return budgets;
}

SuccessiveHalving::SuccessiveHalving(const Halving& settings)
    : settings_(settings), budgets_(rungs(settings)) {
  // Hyperband's bracket that begins at rung k of n has about n / (n - k) * eta^(n - 1 - k) trials.
  const double n = static_cast<double>(budgets_.size());
  double sum = 0;
  for (size_t k = 0; k < settings.brackets; ++k) {
    Bracket bracket;
    bracket.first = k;
    bracket.weight =
        n / (n - static_cast<double>(k)) * std::pow(settings.eta, n - 1 - static_cast<double>(k));
    bracket.rungs.resize(budgets_.size());
    sum += bracket.weight;
    brackets_.push_back(std::move(bracket));
  }
  for (Bracket& bracket : brackets_) bracket.weight /= sum;
}

std::optional<SuccessiveHalving::Promotion> SuccessiveHalving::promotion() const {
  for (size_t rung = budgets_.size() - 1; rung-- > 0;) {
    for (const Bracket& bracket : brackets_) {
      const Rung& here = bracket.rungs[rung];
      const auto most = static_cast<size_t>(static_cast<double>(here.values.size()) / settings_.eta);
      std::vector<std::pair<double, uint64_t>> order;
      for (const auto& [trial, value] : here.values) order.emplace_back(value, trial);
      std::sort(order.begin(), order.end());
      for (size_t i = 0; i < most; ++i) {
        if (std::isfinite(order[i].first) && !here.promoted.contains(order[i].second))
          return Promotion{order[i].second, budgets_[rung + 1]};
      }
    }
  }
  return std::nullopt;
}

size_t SuccessiveHalving::next_bracket() const {
  uint64_t all = 1;
  for (const Bracket& bracket : brackets_) all += bracket.trials;
  size_t next = 0;
  double largest = -1;
  for (size_t i = 0; i < brackets_.size(); ++i) {
    const double lacks =
        brackets_[i].weight * static_cast<double>(all) - static_cast<double>(brackets_[i].trials);
    if (lacks <= largest) continue;
    largest = lacks;
    next = i;
  }
  return next;
}

uint64_t SuccessiveHalving::first_budget() const {
  return budgets_[brackets_[next_bracket()].first];
}

void SuccessiveHalving::assign(uint64_t trial, uint64_t budget) {
  if (!bracket_of_.contains(trial)) {
    size_t bracket = next_bracket();
    for (size_t i = 0; i < brackets_.size(); ++i) {
      if (budgets_[brackets_[i].first] == budget) bracket = i;
    }
    bracket_of_[trial] = bracket;
    ++brackets_[bracket].trials;
    return;
  }
  Bracket& bracket = brackets_[bracket_of_[trial]];
  for (size_t rung = 0; rung + 1 < budgets_.size(); ++rung) {
    if (budgets_[rung + 1] == budget) bracket.rungs[rung].promoted.insert(trial);
  }
}

void SuccessiveHalving::tell(uint64_t trial, uint64_t budget, double value) {
  const auto found = bracket_of_.find(trial);
  if (found == bracket_of_.end()) return;
  for (size_t rung = 0; rung < budgets_.size(); ++rung) {
    if (budgets_[rung] == budget) brackets_[found->second].rungs[rung].values[trial] = value;
  }
}

}  // namespace minke::search
