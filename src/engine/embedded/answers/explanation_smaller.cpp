// Which smaller request would start sooner: they are tried one after the other, each in its own piece.
#include <algorithm>
#include <utility>

#include "api/explanation.pb.h"
#include "engine/embedded/answers/explanation.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int kMostSmaller = 6;
constexpr size_t kOfOneKind = 2;
constexpr int kMostTries = 30;      // of all kinds: bounds the cost of an answer
constexpr int64_t kLeastGain = 60;  // s

int64_t worth_it(int64_t start, int64_t now) {
  return start - std::max(kLeastGain, (start - now) / 10);
}

}  // namespace

bool Explanation::list_smaller(const Job& job) {
  const bool starts_now = reply().start_time() != 0 && reply().start_time() <= reply().now();
  if (job.het_job_id != 0 || starts_now) return false;
  const auto& own = job.submission->partitions;
  const JobSpec spec = job.submission->spec();
  std::vector<std::string> others;
  for (const PartitionRecord& partition : core_.nodes->partitions()) {
    if (!is_scheduled(partition) || std::find(own.begin(), own.end(), partition.name()) != own.end())
      continue;
    JobSpec elsewhere = spec;
    elsewhere.set_partition(partition.name());
    if (core_.nodes->choose_partitions(elsewhere, job.uid)) others.push_back(partition.name());
  }
  choices_ = smaller_requests(spec, job.time_limit_minutes, own, others);
  return false;
}

void Explanation::begin_kind(int kind) {
  kind_ = kind;
  found_ = 0;
  at_once_ = false;
  best_ = reply().start_time();
}

// The request of the next choice that deserves a forecast.
std::optional<sched::Request> Explanation::next_smaller(const Job& job) {
  while (next_choice_ < choices_.size()) {
    const SmallerRequestChoice& choice = choices_[next_choice_++];
    if (choice.kind != kind_) begin_kind(choice.kind);
    if (at_once_ || found_ >= kOfOneKind) continue;
    for (const std::string& partition : choice.partitions) {
      auto made = core_.scheduling->request_for(choice.spec, partition, choice.time_limit_minutes);
      if (!made) continue;
      core_.scheduling->apply_limits(job, choice.spec, *made);
      const sched::Request* own = core_.world->request_of(job);
      if (own == nullptr || *made != *own) return std::move(*made);
    }
  }
  return std::nullopt;
}

bool Explanation::try_smaller(const Job& job) {
  if (!forecast_) return begin_smaller(job);
  if (!go_on_for_a_slice(*forecast_)) return true;
  const auto expected = forecast_->start();
  forecast_.reset();
  if (expected && !expected->after_unlimited) found_smaller(*expected);
  return true;
}

// False: there is nothing more to try.
bool Explanation::begin_smaller(const Job& job) {
  if (!job.queued || tries_++ == kMostTries) return false;
  const auto request = next_smaller(job);
  if (!request) return false;
  forecast_ = core_.scheduling->forecast_changed(job, *request);
  return true;
}

void Explanation::found_smaller(const sched::ExpectedStart& expected) {
  const SmallerRequestChoice& choice = choices_[next_choice_ - 1];
  const int64_t now = core_.now();
  if (best_ != 0 && expected.start > worth_it(best_, now)) return;
  const int64_t start = std::max(now, expected.start);
  api::SmallerRequest& smaller = *reply().add_smaller();
  smaller.set_options(choice.options);
  smaller.set_instead_of(choice.instead_of);
  smaller.set_start_time(start);
  best_ = start;
  at_once_ = start <= now;
  ++found_;
}

void Explanation::sort_smaller() {
  auto& smaller = *reply().mutable_smaller();
  std::stable_sort(smaller.begin(), smaller.end(),
                   [](const auto& a, const auto& b) { return a.start_time() < b.start_time(); });
  while (smaller.size() > kMostSmaller) smaller.RemoveLast();
}

}  // namespace minke::engine
