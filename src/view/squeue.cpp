#include "view/squeue.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "api/job_filter.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "text/number.h"

namespace minke::view {
namespace {

constexpr const char* kDefaultFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
constexpr const char* kLongFormat = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
constexpr const char* kStartFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
constexpr const char* kStateFormat = "%.18i %.2t";

// The fields that QueryJobsRequest::brief brings.
constexpr std::string_view kBriefFields[] = {
    "account",      "arrayjobid", "arraytaskid",  "batchhost",  "groupid",    "groupname",  "jobarrayid",
    "jobid",        "name",       "nodelist",     "numcpus",    "numnodes",   "numtasks",   "partition",
    "priority",     "qos",        "prioritylong", "reason",     "reasonlist", "restartcnt", "starttime",
    "state",        "schednodes", "statecompact", "submittime", "timeleft",   "timelimit",  "timeused",
    "eligibletime", "userid",     "username"};
constexpr std::string_view kBriefSortLetters = "+-,agijlpqrtuABCDFGKLMNPQRSTUV";

// Whether one of the wanted is in the list: a job may name several partitions or reservations.
bool is_of_one(const std::vector<std::string>& wanted, std::string_view list) {
  const auto names = text::split(list, ',');
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  });
}

bool contains(const auto& values, const auto& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool state_selected(const model::JobRecord& job, const SqueueOptions& options) {
  if (options.all_states) return true;
  if (options.filter_states)
    return contains(options.states, job.state()) || (options.completing_state && job.completing()) ||
           (options.configuring_state && job.configuring()) || (options.stopped_state && is_stopped(job));
  if (options.start) return job.state() == model::JOB_PENDING;
  return !is_finished(job.state()) || job.completing();
}

bool holds(const model::IndexRange& range, uint32_t index) {
  return index >= range.first() && index <= range.last() &&
         (index - range.first()) % std::max(1u, range.step()) == 0;
}

// Whether a selector names this job, and for one with tasks, which of the pending ones.
struct TaskSelection {
  bool named = false;
  bool all_tasks = false;
  std::vector<const api::JobSelector*> selectors;  // with tasks

  bool selects(uint32_t task) const {
    if (all_tasks) return true;
    for (const api::JobSelector* selector : selectors)
      for (const model::IndexRange& range : selector->tasks())
        if (holds(range, task)) return true;
    return false;
  }
};

TaskSelection select_tasks(const model::JobRecord& job, const SqueueOptions& options) {
  TaskSelection selection;
  if (options.jobs.empty()) {
    selection.named = selection.all_tasks = true;
    return selection;
  }
  for (const api::JobSelector& selector : options.jobs) {
    bool of_array = job.array_job_id() != 0 && selector.job_id() == job.array_job_id();
    bool of_het_job = job.het_job_id() != 0 && selector.job_id() == job.het_job_id() &&
                      (!selector.has_het_offset() || selector.het_offset() == job.het_job_offset());
    if (selector.has_het_offset()) {
      if (of_het_job) selection.named = selection.all_tasks = true;
    } else if (selector.tasks().empty()) {
      if (of_array || of_het_job || selector.job_id() == job.job_id())
        selection.named = selection.all_tasks = true;
    } else if (of_array) {
      selection.named = true;
      selection.selectors.push_back(&selector);
    }
  }
  return selection;
}

void add_per_partition(const JobLine& line, const SqueueOptions& options, std::vector<JobLine>& lines) {
  if (!options.per_partition || line.job->state() != model::JOB_PENDING) {
    lines.push_back(line);
    return;
  }
  std::string_view rest = line.partition;
  while (true) {
    size_t comma = rest.find(',');
    JobLine one = line;
    one.partition = rest.substr(0, comma);
    const auto tier = options.partition_tiers.find(one.partition);
    if (tier != options.partition_tiers.end()) one.partition_tier = tier->second;
    lines.push_back(one);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

// One line of the waiting tasks that were named: 7_[2,7].
JobLine of_tasks(const model::JobRecord& job, const std::vector<uint32_t>& tasks) {
  const auto named = std::make_shared<model::JobRecord>(job);
  named->clear_array_pending();  // its throttle, too
  for (const uint32_t task : tasks) {
    model::IndexRange& range = *named->mutable_array_pending()->add_ranges();
    range.set_first(task);
    range.set_last(task);
    range.set_step(1);
  }
  JobLine line = JobLine::of(*named);
  line.named_tasks = named;
  return line;
}

void add_lines(const model::JobRecord& job, const SqueueOptions& options, std::vector<JobLine>& lines) {
  TaskSelection selection = select_tasks(job, options);
  if (!selection.named) return;
  JobLine line = JobLine::of(job);
  line.lists_each_task = options.only_job_state;
  if (job.has_array_task_id()) {
    if (selection.selects(job.array_task_id())) add_per_partition(line, options, lines);
    return;
  }
  bool one_by_one = job.array_job_id() != 0 && job.array_pending().ranges_size() > 0 &&
                    (options.array || !selection.all_tasks);
  if (!one_by_one) {
    if (selection.all_tasks) add_per_partition(line, options, lines);
    return;
  }
  std::vector<uint32_t> tasks;
  for (const model::IndexRange& range : job.array_pending().ranges())
    for (uint64_t task = range.first(); task <= range.last(); task += std::max(1u, range.step()))
      if (selection.selects(static_cast<uint32_t>(task))) tasks.push_back(static_cast<uint32_t>(task));
  if (!options.array && tasks.size() > 1) {
    JobLine named = of_tasks(job, tasks);
    named.lists_each_task = line.lists_each_task;
    add_per_partition(named, options, lines);
    return;
  }
  for (const uint32_t task : tasks) {
    line.waiting_task = task;
    add_per_partition(line, options, lines);
  }
}

// A pending job may name several partitions.
// Whether it asks for a license of such a name, of however many.
bool has_license(const model::JobRecord& job, const std::vector<std::string>& names) {
  std::string_view asked = job.spec().licenses();
  while (!asked.empty()) {
    const std::string_view one = asked.substr(0, asked.find_first_of(",;|"));
    asked.remove_prefix(std::min(asked.size(), one.size() + 1));
    if (contains(names, std::string(one.substr(0, one.find_first_of(":=*"))))) return true;
  }
  return false;
}

struct SortKey {
  JobSortKey key;
  bool descending;
};

// Slurm's squeue sorts by these, not by every field it shows, and applies the last one first.
Result<std::vector<SortKey>> parse_sort(std::string_view text) {
  constexpr std::string_view kLetters = ",+-BcCdDefgGhHiIjJlLmMnNOpPQStTuUvVz";
  if (const size_t wrong = text.find_last_not_of(kLetters); wrong != std::string_view::npos)
    return failure(std::string("Invalid sort specification: ") + text[wrong]);
  std::vector<SortKey> keys;
  bool descending = false;
  for (char c : text) {
    if (c == ',' || c == '+' || c == '-') {
      descending = c == '-';
      continue;
    }
    std::optional<JobSortKey> key = job_sort_key(c);
    if (!key) return failure(std::string("Invalid sort specification: ") + c);
    keys.push_back({*key, descending});
    descending = false;
  }
  // Equal lines are in the order of submission, tasks in that of their array.
  keys.push_back({*job_sort_key('i'), false});
  return keys;
}

// Puts `value` of each line into column `column` of `ranks` as a number with the same order.
void rank_numbers(const std::vector<JobLine>& lines, const SortKey& key, const DisplayContext& context,
                  size_t column, size_t columns, std::vector<int64_t>& ranks) {
  for (size_t i = 0; i < lines.size(); ++i) {
    int64_t number = key.key.number(lines[i], context);
    ranks[i * columns + column] = key.descending ? ~number : number;
  }
}
// Usually there are few different texts: this sorts them once, and lines then
// compare by number.
void rank_texts(const std::vector<JobLine>& lines, const SortKey& key, size_t column, size_t columns,
                std::vector<int64_t>& ranks) {
  std::unordered_map<std::string_view, int64_t> rank_by_text;
  std::string_view last;  // neighbours are mostly equal, which saves a look-up
  for (const JobLine& line : lines) {
    const std::string_view text = key.key.text(line);
    if (rank_by_text.empty() || text != last) rank_by_text.try_emplace(text, 0);
    last = text;
  }
  std::vector<std::string_view> texts;
  texts.reserve(rank_by_text.size());
  for (const auto& [text, rank] : rank_by_text) texts.push_back(text);
  std::sort(texts.begin(), texts.end());
  for (size_t i = 0; i < texts.size(); ++i) rank_by_text[texts[i]] = static_cast<int64_t>(i);
  int64_t rank = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view text = key.key.text(lines[i]);
    if (i == 0 || text != last) rank = rank_by_text.find(text)->second;
    last = text;
    ranks[i * columns + column] = key.descending ? ~rank : rank;
  }
}

std::vector<JobLine> sorted(std::vector<JobLine> lines, const std::vector<SortKey>& keys,
                            const DisplayContext& context) {
  const size_t columns = keys.size();
  std::vector<int64_t> ranks(lines.size() * columns);
  for (size_t column = 0; column < columns; ++column) {
    if (keys[column].key.number != nullptr)
      rank_numbers(lines, keys[column], context, column, columns, ranks);
    if (keys[column].key.text != nullptr) rank_texts(lines, keys[column], column, columns, ranks);
  }
  std::vector<uint32_t> order(lines.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto before = [&](uint32_t left, uint32_t right) {
    const int64_t* a = &ranks[left * columns];
    const int64_t* b = &ranks[right * columns];
    return std::lexicographical_compare(a, a + columns, b, b + columns);
  };
  if (std::is_sorted(order.begin(), order.end(), before)) return lines;
  std::stable_sort(order.begin(), order.end(), before);
  std::vector<JobLine> result;
  result.reserve(lines.size());
  for (uint32_t at : order) result.push_back(lines[at]);
  return result;
}

}  // namespace

api::JobFilter job_filter(const SqueueOptions& options) {
  api::JobFilter filter;
  for (const api::JobSelector& job : options.jobs) *filter.add_jobs() = job;
  for (const StepSelector& step : options.steps) *filter.add_jobs() = step.job;
  filter.mutable_uids()->Add(options.uids.begin(), options.uids.end());
  filter.mutable_names()->Add(options.names.begin(), options.names.end());
  filter.mutable_accounts()->Add(options.accounts.begin(), options.accounts.end());
  filter.mutable_qos()->Add(options.qos.begin(), options.qos.end());
  filter.mutable_nodes()->Add(options.nodes.begin(), options.nodes.end());
  // A single job must be found in any state, or else be reported as unknown. A completing job has ended
  // already, so one more state is needed to see it.
  bool any_state =
      options.all_states || options.completing_state || options.jobs.size() == 1 ||
      std::any_of(options.states.begin(), options.states.end(), [](model::JobState state) {
        return is_finished(state) && state != model::JOB_REQUEUED;  // which no job in the queue is
      });
  filter.set_all_states(any_state);
  if (!any_state && (options.configuring_state || options.stopped_state) && !options.states.empty())
    filter.add_states(model::JOB_RUNNING);
  if (!any_state)
    for (model::JobState state : options.states) filter.add_states(state);
  return filter;
}

Result<std::vector<JobLine>> job_lines(std::span<const model::JobRecord* const> jobs,
                                       const SqueueOptions& options, const DisplayContext& context) {
  auto keys = parse_sort(options.sort ? std::string_view(*options.sort) : options.start ? "S" : "P,t,-p");
  if (!keys) return failure(std::move(keys.error()));
  std::vector<JobLine> lines;
  lines.reserve(jobs.size());
  for (const model::JobRecord* job : jobs) {
    if (!state_selected(*job, options) || options.not_uid == job->uid()) continue;
    if (options.running_over || options.running_under) {
      if (job->state() != model::JOB_RUNNING) continue;
      const int64_t ran = elapsed_seconds(*job, context.now);
      if (ran <= options.running_over.value_or(-1) || ran >= options.running_under.value_or(INT64_MAX))
        continue;
    }
    if (!options.partitions.empty() && !is_of_one(options.partitions, job->partition())) continue;
    if (!options.reservations.empty() && !is_of_one(options.reservations, job->spec().reservation()))
      continue;
    if (!options.licenses.empty() && !has_license(*job, options.licenses)) continue;
    add_lines(*job, options, lines);
  }
  return sorted(std::move(lines), *keys, context);
}

bool brief_records_suffice(const SqueueOptions& options, const Table<JobLine>& table) {
  return table.shows_only(kBriefFields) && options.reservations.empty() && options.licenses.empty() &&
         (!options.sort || options.sort->find_first_not_of(kBriefSortLetters) == std::string::npos);
}

Table<JobLine> job_table(const SqueueOptions& options, std::vector<std::string>& problems) {
  if (options.long_format)
    return Table<JobLine>::from_long_format(job_fields(), *options.long_format, problems);
  std::string_view format = options.format           ? std::string_view(*options.format)
                            : options.long_list      ? kLongFormat
                            : options.start          ? kStartFormat
                            : options.only_job_state ? kStateFormat
                                                     : kDefaultFormat;
  if (format == "%all") return Table<JobLine>::all(job_fields(), "|", "");
  return Table<JobLine>::from_short_format(job_fields(), format, problems);
}

}  // namespace minke::view
