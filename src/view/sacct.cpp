#include "view/sacct.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "text/hostlist.h"
#include "text/number.h"

namespace minke::view {
namespace {

bool overlaps(const std::optional<std::pair<uint32_t, uint32_t>>& range, uint32_t value) {
  return !range || (value >= range->first && value <= range->second);
}
template <typename Value>
bool listed(const std::vector<Value>& wanted, const std::type_identity_t<Value>& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}
// Each wanted constraint is a word of the expression.
bool has_constraints(std::string_view expression, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& feature) {
    constexpr std::string_view kOperators = "&|,[]()*";
    std::string_view rest = expression;
    while (!rest.empty()) {
      const size_t length = std::min(rest.find_first_of(kOperators), rest.size());
      if (rest.substr(0, length) == feature) return true;
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
    return false;
  });
}
bool listed_any(const std::vector<std::string>& wanted, std::string_view list) {
  if (wanted.empty()) return true;
  for (std::string_view one : text::split(list, ','))
    if (std::find(wanted.begin(), wanted.end(), one) != wanted.end()) return true;
  return false;
}

bool on_nodes(const model::JobRecord& job, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return true;
  for (const model::NodeAllocation& allocation : job.nodes())
    if (std::find(nodes.begin(), nodes.end(), allocation.node()) != nodes.end()) return true;
  auto hosts = text::expand_hostlist(job.node_list());
  if (!hosts) return false;
  return std::any_of(hosts->begin(), hosts->end(), [&](const std::string& host) {
    return std::find(nodes.begin(), nodes.end(), host) != nodes.end();
  });
}

bool names_job(const api::JobSelector& selector, uint32_t job_id, uint32_t array_job_id,
               std::optional<uint32_t> task) {
  if (selector.tasks().empty()) return selector.job_id() == job_id || selector.job_id() == array_job_id;
  if (selector.job_id() != array_job_id || !task) return false;
  for (const model::IndexRange& range : selector.tasks())
    if (*task >= range.first() && *task <= range.last() &&
        (*task - range.first()) % std::max(1u, range.step()) == 0)
      return true;
  return false;
}

bool names_job(const api::JobSelector& selector, const model::JobRecord& job) {
  if (job.het_job_id() != 0 && selector.job_id() == job.het_job_id())
    return !selector.has_het_offset() || selector.het_offset() == job.het_job_offset();
  if (selector.has_het_offset()) return false;
  std::optional<uint32_t> task;
  if (job.has_array_task_id()) task = job.array_task_id();
  if (names_job(selector, job.job_id(), job.array_job_id(), task)) return true;
  // A pending task is found through the record of those that wait together.
  if (task || job.array_job_id() == 0 || selector.job_id() != job.array_job_id()) return false;
  for (const model::IndexRange& wanted : selector.tasks())
    for (const model::IndexRange& waiting : job.array_pending().ranges())
      if (wanted.first() <= waiting.last() && waiting.first() <= wanted.last()) return true;
  return false;
}

// The window of sacct: [from, until); a window without length is one second long.
struct Window {
  int64_t from, until;
};

Window window_of(const SacctQuestion& question) {
  const int64_t until = question.until != 0 ? question.until : INT64_MAX;
  return {question.from, until == question.from ? until + 1 : until};
}

// Whether the job was in the state at some time of the window; ends count up to the window's end.
bool was_in_state(const model::JobRecord& job, model::JobState state, const Window& window) {
  const bool ended = is_finished(job.state());
  const int64_t started = job.state() == model::JOB_PENDING ? 0 : job.start_time();
  switch (state) {
    case model::JOB_PENDING: {
      const int64_t waited_until = started != 0 ? started : ended ? job.end_time() : INT64_MAX;
      return job.eligible_time() != 0 && job.eligible_time() < window.until && waited_until > window.from;
    }
    case model::JOB_RUNNING:
      return started != 0 && started < window.until && (!ended || job.end_time() > window.from);
    case model::JOB_SUSPENDED:
      return job.state() == model::JOB_SUSPENDED;
    default:
      return job.state() == state && job.end_time() >= window.from && job.end_time() <= window.until;
  }
}

bool was_in_states(const model::JobRecord& job, const SacctQuestion& question) {
  const Window window = window_of(question);
  return std::any_of(question.states.begin(), question.states.end(),
                     [&](model::JobState state) { return was_in_state(job, state, window); });
}

// Whether --jobs was given, with whole jobs or single steps.
bool names_jobs(const SacctQuestion& question) {
  return !question.jobs.empty() || !question.steps.empty();
}

bool is_named_whole(const model::JobRecord& job, const SacctQuestion& question) {
  return std::any_of(question.jobs.begin(), question.jobs.end(),
                     [&](const api::JobSelector& selector) { return names_job(selector, job); });
}

bool is_named(const model::JobRecord& job, const SacctQuestion& question) {
  return is_named_whole(job, question) ||
         std::any_of(question.steps.begin(), question.steps.end(),
                     [&](const SacctStep& step) { return names_job(step.job, job); });
}

// Whether it matches in its request and allocation; states and times aside.
bool has_wanted_attributes(const model::JobRecord& job, const SacctQuestion& question) {
  return listed_any(question.partitions, job.partition()) && listed(question.names, job.spec().name()) &&
         listed(question.wckeys, job.spec().wckey()) && listed(question.associations, "0") &&
         has_constraints(job.spec().constraint(), question.constraints) &&
         listed(question.accounts, job.account()) && listed(question.qos, job.qos()) &&
         listed(question.reasons, job.reason()) && overlaps(question.num_nodes, job.num_nodes()) &&
         overlaps(question.num_cpus, job.num_cpus()) &&
         overlaps(question.time_limit, job.time_limit_minutes()) && on_nodes(job, question.nodes);
}

bool is_selected(const model::JobRecord& job, const SacctQuestion& question) {
  const bool named = names_jobs(question);
  if (named && !is_named(job, question)) return false;
  if (!has_wanted_attributes(job, question)) return false;
  if (question.filter_states) return was_in_states(job, question);
  // Without --jobs, jobs that were never eligible (held, waiting for another job) are not shown.
  if (!named && job.eligible_time() == 0) return false;
  if (is_finished(job.state()) && job.end_time() < question.from) return false;
  return question.until == 0 || (named ? job.submit_time() : job.eligible_time()) < question.until;
}

bool is_selected(const model::StepRecord& step, const model::JobRecord& job, const SacctQuestion& question) {
  if (question.allocations_only) return false;
  bool of_this_job = false;  // where some are named, others are left out, also beside the job itself
  for (const SacctStep& wanted : question.steps) {
    if (!names_job(wanted.job, job)) continue;
    of_this_job = true;
    if (wanted.kind == step.kind() && (wanted.kind != model::STEP_NORMAL || wanted.step_id == step.step_id()))
      return true;
  }
  return !of_this_job;
}

// Whether the answer includes the job's own line: not if only steps of it were named, but with -X.
bool shows_allocation(const model::JobRecord& job, const SacctQuestion& question) {
  return !names_jobs(question) || question.allocations_only || is_named_whole(job, question);
}

}  // namespace

std::string sacct_help_format() {
  std::vector<std::string_view> names;
  for (const SacctField& field : sacct_fields()) names.push_back(field.name);
  return print_help_format(names, 19);
}

namespace {

// The tasks of a waiting array have one record.
void add_allocation(const api::AccountedJob& accounted, const SacctQuestion& question,
                    std::vector<SacctLine>& lines) {
  const model::JobRecord& job = accounted.job();
  if (!question.each_task || job.array_pending().ranges_size() == 0) {
    lines.push_back({&job, nullptr, &accounted, std::nullopt});
    return;
  }
  for (const model::IndexRange& range : job.array_pending().ranges())
    for (uint64_t task = range.first(); task <= range.last(); task += std::max(1U, range.step()))
      lines.push_back({&job, nullptr, &accounted, static_cast<uint32_t>(task)});
}

}  // namespace

std::vector<SacctLine> sacct_lines(std::span<const api::AccountedJob* const> jobs,
                                   const SacctQuestion& question) {
  std::vector<const api::AccountedJob*> selected;
  for (const api::AccountedJob* job : jobs)
    if (is_selected(job->job(), question)) selected.push_back(job);
  auto key = [](const api::AccountedJob* accounted) {
    const model::JobRecord& job = accounted->job();
    uint32_t family = job.array_job_id() != 0 ? job.array_job_id() : job.job_id();
    uint64_t task = job.has_array_task_id() ? job.array_task_id() : job.array_job_id() != 0 ? UINT64_MAX : 0;
    return std::tuple(family, task, job.restarts());
  };
  std::stable_sort(selected.begin(), selected.end(),
                   [&](auto* left, auto* right) { return key(left) < key(right); });
  if (!question.all_runs) {
    const auto of_one_job = [](const api::AccountedJob* left, const api::AccountedJob* right) {
      return left->job().job_id() == right->job().job_id();
    };
    // unique() keeps the first of each, so it runs from behind to keep the last run.
    const auto kept = std::unique(selected.rbegin(), selected.rend(), of_one_job);
    selected.erase(selected.begin(), kept.base());
  }

  std::vector<SacctLine> lines;
  for (const api::AccountedJob* accounted : selected) {
    const model::JobRecord& job = accounted->job();
    if (shows_allocation(job, question)) add_allocation(*accounted, question, lines);
    std::vector<const model::StepRecord*> steps;
    for (const model::StepRecord& step : accounted->steps())
      if (is_selected(step, job, question)) steps.push_back(&step);
    // The batch script's and the extern step come before the numbered ones here, unlike in squeue.
    auto rank = [](const model::StepRecord* step) {
      switch (step->kind()) {
        case model::STEP_INTERACTIVE:
          return int64_t{-4};
        case model::STEP_BATCH:
          return int64_t{-3};
        case model::STEP_EXTERN:
          return int64_t{-2};
        default:
          return int64_t{step->step_id()};
      }
    };
    std::stable_sort(steps.begin(), steps.end(),
                     [&](auto* left, auto* right) { return rank(left) < rank(right); });
    for (const model::StepRecord* step : steps) lines.push_back({&job, step, accounted, std::nullopt});
  }
  return lines;
}

void append_cpu_time(std::string& out, uint64_t microseconds) {
  uint64_t seconds = microseconds / 1000000;
  uint64_t milliseconds = microseconds / 1000 % 1000;
  if (seconds < 3600 && milliseconds != 0) {
    fmt::format_to(std::back_inserter(out), "{:02}:{:02}.{:03}", seconds / 60, seconds % 60, milliseconds);
  } else {
    append_clock(out, static_cast<int64_t>(seconds));
  }
}

}  // namespace minke::view
