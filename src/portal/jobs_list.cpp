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
#include "portal/desk.h"
#include "portal/ended_jobs.h"
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
  std::vector<std::pair<uint32_t, uint32_t>> numbers = {};  // ranges, where `words` has them

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
    return std::any_of(numbers.begin(), numbers.end(), [&](const auto& range) {
      const auto is_in = [&](uint32_t id) { return id >= range.first && id <= range.second; };
      return is_in(job.job_id()) || (job.array_job_id() != 0 && is_in(job.array_job_id()));
    });
  }
};

// "12", "100-105,107"; nothing where it is anything else.
std::vector<std::pair<uint32_t, uint32_t>> numbers_in(std::string_view words) {
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  for (const std::string_view part : text::split(words, ',')) {
    const size_t dash = part.find('-');
    const auto first = text::parse_unsigned(text::trim(part.substr(0, dash)), UINT32_MAX);
    const auto last = dash == std::string_view::npos
                          ? first
                          : text::parse_unsigned(text::trim(part.substr(dash + 1)), UINT32_MAX);
    if (!first || !last || *last < *first) return {};
    ranges.emplace_back(static_cast<uint32_t>(*first), static_cast<uint32_t>(*last));
  }
  return ranges;
}

Result<JobsWanted> wanted_of(const Call& call) {
  JobsWanted wanted{call.text("user"),
                    call.text("account"),
                    call.text("partition"),
                    call.text("search"),
                    {},
                    numbers_in(call.text("search"))};
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

// Short records have no GPUs, and may be a second old: those of one page are asked for again, where that
// costs little. Returns the time of what is known of them.
int64_t complete(Call& call, const QueueNow& queue, Ordered& page, engine::JobRecords& storage) {
  if (page.empty() || queue.is_of_slurm) return queue.now;
  api::JobFilter filter;
  filter.set_all_states(true);
  for (const JobRecord* job : page) filter.add_jobs()->set_job_id(job->job_id());
  auto fetched = engine::fetch_jobs(call.cluster, std::move(filter));
  if (!fetched) return queue.now;
  storage = std::move(*fetched);
  std::map<uint32_t, const JobRecord*> by_id;
  for (const JobRecord* job : storage.records) by_id[job->job_id()] = job;
  for (const JobRecord*& job : page)
    if (const auto found = by_id.find(job->job_id()); found != by_id.end()) job = found->second;
  return storage.now != 0 ? storage.now : queue.now;
}

// As in squeue: what has ended is no part of the queue, unless it is asked for.
bool is_in_queue(const JobRecord& job, const JobsWanted& wanted) {
  return !view::is_finished(job.state()) || job.completing() || !wanted.states.empty() ||
         !wanted.numbers.empty();
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

// Lists and ranges of numbers are found by these; a single one may be a part of a name, too.
bool asks_for_numbers(const JobsWanted& wanted) {
  constexpr uint64_t kMostAsked = 500;
  uint64_t count = 0;
  for (const auto& [first, last] : wanted.numbers) count += uint64_t{last} - first + 1;
  return count > 1 && count <= kMostAsked;
}

Result<Reply> ended_by_numbers(Call& call, const JobsWanted& wanted, api::QueryAccountingRequest query) {
  for (const auto& [first, last] : wanted.numbers)
    for (uint64_t id = first; id <= last; ++id)
      query.mutable_filter()->add_jobs()->set_job_id(static_cast<uint32_t>(id));
  std::vector<JobRecord> jobs;
  const auto now = engine::for_each_accounted(call.cluster, query, [&](const api::AccountedJob& one) {
    const JobRecord& job = one.job();
    if (view::is_finished(job.state()) && wanted.fits(job)) jobs.push_back(job);
  });
  if (!now) return failure(now.error());
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobRecord& a, const JobRecord& b) {
    return std::pair(b.end_time(), b.job_id()) < std::pair(a.end_time(), a.job_id());
  });
  Json rows = Json::array();
  for (const JobRecord& job : jobs)
    if (rows.size() < 1000) rows.push_back(job_row(job, *now));
  return json_reply(
      {{"now", *now}, {"more", false}, {"before", 0}, {"before_id", 0}, {"jobs", std::move(rows)}});
}

}  // namespace

Result<Reply> list_jobs(Call& call) {
  const auto wanted = wanted_of(call);
  if (!wanted) return failure(wanted.error());
  const auto queue = call.desk.queue().get(call.cluster, std::chrono::seconds(1));
  if (!queue) return failure(queue.error());
  Ordered jobs;
  for (const JobRecord* job : (*queue)->jobs)
    if (is_in_queue(*job, *wanted) && wanted->fits(*job)) jobs.push_back(job);
  const auto offset = static_cast<size_t>(call.number("offset")),
             limit = static_cast<size_t>(call.number("limit", 50));
  std::string key = call.has("sort") ? call.text("sort") : "-id";
  const bool descending = key.starts_with('-');
  if (descending) key.erase(0, 1);
  order(jobs, key, descending, offset + limit);
  const size_t from = std::min(offset, jobs.size()), until = std::min(from + limit, jobs.size());
  Ordered page(jobs.begin() + static_cast<ptrdiff_t>(from), jobs.begin() + static_cast<ptrdiff_t>(until));
  engine::JobRecords storage;
  const int64_t now = complete(call, **queue, page, storage);
  Json value = {{"now", now},
                {"total", jobs.size()},
                {"offset", from},
                {"counts", counts_of(jobs)},
                {"jobs", Json::array()}};
  for (const JobRecord* job : page) value["jobs"].push_back(job_row(*job, now));
  return json_reply(value);
}

// A page of what ended costs about what it shows, however many jobs there ever were. Where few jobs fit, it
// is shorter, and says where to go on.
Result<Reply> list_ended_jobs(Call& call) {
  const auto wanted = wanted_of(call);
  if (!wanted) return failure(wanted.error());
  api::QueryAccountingRequest query;
  api::JobFilter& filter = *query.mutable_filter();
  filter.set_all_states(true);
  if (!wanted->user.empty()) ask_for_user(wanted->user, query);
  if (!wanted->account.empty()) filter.add_accounts(wanted->account);
  if (!wanted->partition.empty()) filter.add_partitions(wanted->partition);
  query.set_from(call.number("since"));
  if (asks_for_numbers(*wanted)) return ended_by_numbers(call, *wanted, std::move(query));
  if (call.has("before")) {
    query.mutable_behind()->set_end_time(call.number("before"));
    query.mutable_behind()->set_job_id(static_cast<uint32_t>(call.number("before_id")));
  }
  const int64_t now = std::time(nullptr);
  Json rows = Json::array();
  const auto read =
      read_back(call.cluster, std::move(query), {.most = static_cast<size_t>(call.number("limit", 50))},
                [&](const api::AccountedJob& one) {
                  if (!wanted->fits(one.job())) return false;
                  rows.push_back(job_row(one.job(), now));
                  return true;
                });
  if (!read) return failure(read.error());
  return json_reply({{"now", now},
                     {"more", !read->is_all},
                     {"before", read->is_all ? 0 : read->next.end_time()},
                     {"before_id", read->is_all ? 0 : read->next.job_id()},
                     {"jobs", std::move(rows)}});
}

}  // namespace minke::portal
