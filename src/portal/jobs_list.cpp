// Lists of jobs: the queue, by the page and in any order; and what ended, the newest first.
#include <algorithm>
#include <ctime>
#include <map>
#include <tuple>

#include "api/accounting.pb.h"
#include "api/jobs.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/job_record.pb.h"
#include "os/user_id.h"
#include "portal/desk.h"
#include "portal/job_answers.h"
#include "portal/job_json.h"
#include "text/list.h"
#include "text/number.h"
#include "text/state.h"
#include "view/text.h"

namespace minke::portal {
namespace {

using model::JobRecord;
using Ordered = std::vector<const JobRecord*>;

// The wanted part of a list.
struct JobsWanted {
  std::string user, account, partition, words;
  std::vector<text::StateWord> states;

  bool fits(const JobRecord& job) const {
    if (!user.empty() && job.user_name() != user) return false;
    if (!account.empty() && job.account() != account) return false;
    if (!partition.empty()) {
      const auto names = text::split(job.partition(), ',');
      if (std::find(names.begin(), names.end(), partition) == names.end()) return false;
    }
    if (!states.empty() && std::none_of(states.begin(), states.end(), [&](const text::StateWord& one) {
          return (one.completing && job.completing()) || (one.state && *one.state == job.state());
        }))
      return false;
    return words.empty() || fits_words(job);
  }

 private:
  bool fits_words(const JobRecord& job) const {
    const std::string_view name = view::job_name(job);
    const auto found = std::search(name.begin(), name.end(), words.begin(), words.end(),
                                   [](char a, char b) { return text::to_lower(a) == text::to_lower(b); });
    if (found != name.end()) return true;
    const auto id = text::parse_unsigned(words);
    return id && (job.job_id() == *id || job.array_job_id() == *id);
  }
};

Result<JobsWanted> wanted_of(const Call& call) {
  JobsWanted wanted{call.text("user"), call.text("account"), call.text("partition"), call.text("search"), {}};
  if (wanted.user == "me") wanted.user = call.desk.user();
  for (const std::string& word : text::split_list(call.text("state"))) {
    const auto state = text::parse_job_state(word);
    if (!state) return failure(state.error().message, EINVAL);
    wanted.states.push_back(*state);
  }
  return wanted;
}

int64_t number_of(const JobRecord& job, std::string_view key) {
  if (key == "submit") return job.submit_time();
  if (key == "start") return job.start_time();
  if (key == "end") return job.end_time();
  if (key == "priority") return job.priority();
  if (key == "cpus") return job.num_cpus();
  if (key == "limit") return job.time_limit_minutes();
  return job.job_id();
}

std::string_view text_of(const JobRecord& job, std::string_view key) {
  if (key == "name") return view::job_name(job);
  if (key == "user") return job.user_name();
  if (key == "account") return job.account();
  if (key == "partition") return job.partition();
  return view::state_text(job);
}

// As squeue shows them: an array's tasks together, by their numbers.
bool stands_before(const JobRecord& a, const JobRecord& b) {
  const auto key = [](const JobRecord& job) {
    return std::tuple(job.array_job_id() != 0 ? job.array_job_id() : job.job_id(),
                      job.has_array_task_id() ? int64_t{job.array_task_id()} : INT64_MAX, job.job_id());
  };
  return key(a) < key(b);
}

// Puts the first `count` in order. Equal ones stand by their ids.
void order(Ordered& jobs, const std::string& key, bool descending, size_t count) {
  const bool by_text =
      key == "name" || key == "user" || key == "account" || key == "partition" || key == "state";
  const auto before = [&](const JobRecord* a, const JobRecord* b) {
    if (key == "id") return descending ? stands_before(*b, *a) : stands_before(*a, *b);
    if (by_text) {
      const auto x = text_of(*a, key), y = text_of(*b, key);
      if (x != y) return (x < y) != descending;
    } else {
      const auto x = number_of(*a, key), y = number_of(*b, key);
      if (x != y) return (x < y) != descending;
    }
    return stands_before(*a, *b);
  };
  const auto middle = jobs.begin() + static_cast<ptrdiff_t>(std::min(count, jobs.size()));
  std::partial_sort(jobs.begin(), middle, jobs.end(), before);
}

// Short records have no GPUs: those of one page are asked for again, where that costs little.
void complete(Call& call, Ordered& page, engine::JobRecords& storage) {
  const auto identity = call.cluster.identity();
  if (page.empty() || !identity || identity->product != "Minke") return;
  api::JobFilter filter;
  filter.set_all_states(true);
  for (const JobRecord* job : page) filter.add_jobs()->set_job_id(job->job_id());
  auto fetched = engine::fetch_jobs(call.cluster, std::move(filter));
  if (!fetched) return;
  storage = std::move(*fetched);
  std::map<uint32_t, const JobRecord*> by_id;
  for (const JobRecord* job : storage.records) by_id[job->job_id()] = job;
  for (const JobRecord*& job : page)
    if (const auto found = by_id.find(job->job_id()); found != by_id.end()) job = found->second;
}

Json counts_of(const Ordered& jobs) {
  std::map<std::string_view, uint64_t> counts;
  for (const JobRecord* job : jobs) {
    uint64_t tasks = 1;
    if (job->array_pending().ranges_size() > 0) {
      tasks = 0;
      for (const model::IndexRange& range : job->array_pending().ranges())
        tasks += (range.last() - range.first()) / std::max(1u, range.step()) + 1;
    }
    counts[view::state_text(*job)] += tasks;
  }
  Json value = Json::object();
  for (const auto& [state, count] : counts) value[std::string(state)] = count;
  return value;
}

}  // namespace

Result<Reply> list_jobs(Call& call) {
  const auto wanted = wanted_of(call);
  if (!wanted) return failure(wanted.error());
  const auto queue = call.desk.queue().get(call.cluster, std::chrono::seconds(1));
  if (!queue) return failure(queue.error());
  Ordered jobs;
  for (const JobRecord* job : (*queue)->jobs)
    if (wanted->fits(*job)) jobs.push_back(job);
  const auto offset = static_cast<size_t>(call.number("offset")),
             limit = static_cast<size_t>(call.number("limit", 50));
  std::string key = call.has("sort") ? call.text("sort") : "-id";
  const bool descending = key.starts_with('-');
  if (descending) key.erase(0, 1);
  order(jobs, key, descending, offset + limit);
  const size_t from = std::min(offset, jobs.size()), until = std::min(from + limit, jobs.size());
  Ordered page(jobs.begin() + static_cast<ptrdiff_t>(from), jobs.begin() + static_cast<ptrdiff_t>(until));
  engine::JobRecords storage;
  complete(call, page, storage);
  Json value = {{"now", (*queue)->now},
                {"total", jobs.size()},
                {"offset", from},
                {"counts", counts_of(jobs)},
                {"jobs", Json::array()}};
  for (const JobRecord* job : page) value["jobs"].push_back(job_row(*job, (*queue)->now));
  return json_reply(value);
}

// Windows of time that grow, backwards from where the last page ended: a page costs about what it shows,
// however many jobs there ever were.
Result<Reply> list_ended_jobs(Call& call) {
  const auto wanted = wanted_of(call);
  if (!wanted) return failure(wanted.error());
  constexpr int64_t kFirstWindow = 6 * 3600, kMostAsked = 20000;
  constexpr int64_t kOldest = int64_t{20} * 365 * 86400;
  const auto limit = static_cast<size_t>(call.number("limit", 50));
  const int64_t since = call.number("since"), asked_at = std::time(nullptr);
  int64_t until = call.has("before") ? call.number("before") : asked_at + 1;
  const auto after_id = static_cast<uint32_t>(call.number("before_id"));
  std::vector<std::pair<std::pair<int64_t, uint32_t>, Json>> found;
  int64_t asked = 0, floor = std::max<int64_t>(since, until - kOldest);
  for (int64_t window = kFirstWindow; until > floor && found.size() <= limit; window *= 4) {
    api::QueryAccountingRequest query;
    query.mutable_filter()->set_all_states(true);
    if (!wanted->user.empty()) query.mutable_filter()->add_users(wanted->user);
    if (!wanted->account.empty()) query.mutable_filter()->add_accounts(wanted->account);
    if (!wanted->partition.empty()) query.mutable_filter()->add_partitions(wanted->partition);
    const int64_t from = std::max(floor, until - window);
    query.set_from(from);
    query.set_until(until + 1);  // what began and ended in that second is in it
    const auto now = engine::for_each_accounted(call.cluster, query, [&](const api::AccountedJob& one) {
      const JobRecord& job = one.job();
      const int64_t end = job.end_time();
      ++asked;
      if (!view::is_finished(job.state()) || end < from || end > until || !wanted->fits(job)) return;
      if (end == until && (after_id == 0 || job.job_id() >= after_id)) return;
      found.push_back({{end, job.job_id()}, job_row(job, asked_at)});
    });
    if (!now) return failure(now.error());
    until = from - 1;
    if (asked > kMostAsked) break;
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const bool more = found.size() > limit || until > floor;
  if (found.size() > limit) found.resize(limit);
  Json value = {{"now", asked_at}, {"more", more}, {"before", 0}, {"before_id", 0}, {"jobs", Json::array()}};
  if (more) {
    value["before"] = found.empty() ? until + 1 : found.back().first.first;
    value["before_id"] = found.empty() ? 0 : found.back().first.second;
  }
  for (auto& [key, row] : found) value["jobs"].push_back(std::move(row));
  return json_reply(value);
}

}  // namespace minke::portal
