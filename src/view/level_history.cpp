#include "view/level_history.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <utility>

#include "model/accounts.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "view/sshare.h"
#include "view/text.h"

namespace minke::view {
namespace {

// The integral of 2^(-t / half_life) over the seconds from `from` to `to` before the end.
double counted_seconds(double from, double to, double half_life) {
  if (half_life <= 0) return to - from;
  const double rate = std::log(2) / half_life;
  return (std::exp(-rate * from) - std::exp(-rate * to)) / rate;
}

}  // namespace

LevelHistory::LevelHistory(api::AccountsReply tree, int64_t since, size_t points)
    : tree_(std::move(tree)), half_life_(static_cast<double>(tree_.usage_half_life())) {
  const auto steps = static_cast<int64_t>(std::max<size_t>(2, points)) - 1;
  for (int64_t i = 0; i <= steps; ++i) moments_.push_back(since + (tree_.now() - since) * i / steps);
  std::unordered_map<std::string, int> accounts;
  for (int i = 0; i < tree_.associations_size(); ++i) {
    places_[tree_.associations(i).id()] = i;
    if (tree_.associations(i).user().empty()) accounts.emplace(tree_.associations(i).account(), i);
  }
  for (int i = 0; i < tree_.associations_size(); ++i) {
    const model::AssociationRecord& one = tree_.associations(i);
    const auto above = accounts.find(one.user().empty() ? one.parent_account() : one.account());
    parents_.push_back(above == accounts.end() || above->second == i ? -1 : above->second);
  }
  used_.resize(parents_.size());
}

double LevelHistory::billed_per_second(const model::JobRecord& job) const {
  const double billed = job.billing() > 0 ? job.billing() : job.num_cpus();
  for (const model::QosRecord& one : tree_.qos())
    if (one.name() == job.qos() && one.has_usage_factor()) return billed * one.usage_factor();
  return billed;
}

void LevelHistory::add(const model::JobRecord& job) {
  const auto place = places_.find(job.association_id());
  if (place == places_.end() || job.start_time() == 0 || job.state() == model::JOB_PENDING) return;
  const int64_t end = is_finished(job.state()) ? job.end_time() : tree_.now();
  const double rate = billed_per_second(job);
  for (size_t i = 0; i + 1 < moments_.size(); ++i) {
    const int64_t from = std::max(job.start_time(), moments_[i]), to = std::min(end, moments_[i + 1]);
    if (from >= to) continue;
    const double used = rate * counted_seconds(static_cast<double>(moments_[i + 1] - to),
                                               static_cast<double>(moments_[i + 1] - from), half_life_);
    for (int at = place->second, depth = 0; at >= 0 && depth < 100;
         at = parents_[static_cast<size_t>(at)], ++depth) {
      auto& column = used_[static_cast<size_t>(at)];
      column.resize(moments_.size());
      column[i] += used;
    }
  }
}

std::vector<LevelHistory::Curve> LevelHistory::curves(const std::string& user, size_t most) const {
  api::AccountsReply then = tree_;
  std::deque<ShareUsage> storage;
  std::vector<size_t> chosen;
  std::vector<Curve> curves;
  const auto lines = share_tree_lines(then, {}, storage);
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].rank && lines[i].rank->id != 1 && (lines[i].user.empty() || lines[i].user == user))
      chosen.push_back(i);
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](size_t a, size_t b) { return lines[a].norm_usage > lines[b].norm_usage; });
  if (chosen.size() > most) chosen.resize(most);
  for (const size_t i : chosen) {
    const size_t name = lines[i].account.find_first_not_of(' ');
    curves.push_back({lines[i].account.substr(std::min(name, lines[i].account.size())), lines[i].user,
                      lines[i].norm_usage, std::vector<std::optional<double>>(moments_.size())});
  }
  for (size_t moment = moments_.size(); moment-- > 0;) {
    if (moment + 1 < moments_.size())
      for (int i = 0; i < then.usage_size() && i < static_cast<int>(used_.size()); ++i) {
        const auto& column = used_[static_cast<size_t>(i)];
        const double used = column.empty() ? 0 : column[moment];
        const double seconds = static_cast<double>(moments_[moment + 1] - moments_[moment]);
        const double more = half_life_ > 0 ? std::exp2(seconds / half_life_) : 1;
        then.mutable_usage(i)->set_raw(std::max(0.0, (then.usage(i).raw() - used) * more));
      }
    std::deque<ShareUsage> usage;
    const auto told = share_tree_lines(then, {}, usage);
    for (size_t i = 0; i < chosen.size(); ++i)
      if (const auto& rank = told[chosen[i]].rank; rank && rank->level > 0 && std::isfinite(rank->level))
        curves[i].levels[moment] = rank->level;
  }
  return curves;
}

}  // namespace minke::view
