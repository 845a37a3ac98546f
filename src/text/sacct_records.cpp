#include "text/sacct_records.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/nobody.h"
#include "model/step_record.pb.h"
#include "model/usage.pb.h"
#include "text/array_spec.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/job_id.h"
#include "text/number.h"
#include "text/state.h"
#include "text/timestamp.h"
#include "text/tres.h"

namespace minke::text {
namespace {

using model::JobRecord;
using model::JobSpec;

constexpr size_t kMostNodes = 10'000;
constexpr size_t kMostColumns = 1000;
constexpr size_t kLongestRecord = size_t{1} << 20;
constexpr int64_t kFirstPlainSeconds = 100'000'000;  // fewer digits are a date
constexpr uint64_t kMostAmount = uint64_t{1} << 50;

bool is_name(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
}

// Reads "12.5K", "3M" or "7" with K, M, G, T, in units of `unit` bytes.
uint64_t amount(std::string_view text, uint64_t unit) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || !(value >= 0)) return 0;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  for (const char letter : {'K', 'M', 'G', 'T', 'P'}) {
    if (text.empty()) break;
    value *= 1024;
    if (to_upper(text.front()) == letter) break;
  }
  value /= static_cast<double>(unit);
  return value < static_cast<double>(kMostAmount) ? static_cast<uint64_t>(std::llround(value)) : kMostAmount;
}

// Reads "[D-]HH:MM:SS", "MM:SS.mmm" and the forms between; returns 0 for anything else.
uint64_t microseconds(std::string_view text) {
  double fraction = 0;
  if (const size_t dot = text.rfind('.'); dot != std::string_view::npos) {
    const std::string_view digits = text.substr(dot, 7);
    (void)std::from_chars(digits.data(), digits.data() + digits.size(), fraction);
    if (!(fraction >= 0 && fraction < 1)) fraction = 0;
    text = text.substr(0, dot);
  }
  uint64_t days = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    days = parse_unsigned(text.substr(0, dash), 1'000'000).value_or(0);
    text.remove_prefix(dash + 1);
  }
  uint64_t seconds = 0;
  for (const std::string_view part : split(text, ':'))
    seconds = seconds * 60 + parse_unsigned(part, 1'000'000'000).value_or(0);
  seconds = std::min<uint64_t>(seconds + days * 86400, uint64_t{1} << 40);
  return seconds * 1'000'000 + static_cast<uint64_t>(std::llround(fraction * 1e6));
}

// Returns the status that wait(2) would have reported.
int32_t wait_status(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return 0;
  const auto code = parse_unsigned(text.substr(0, colon), 255),
             signal = parse_unsigned(text.substr(colon + 1), 255);
  if (!code || !signal) return 0;
  if (*code == 0 && *signal == 125) return kOutOfMemory;
  return static_cast<int32_t>(*code << 8 | (*signal & 0x7f));
}

std::string bytes(std::string_view text) {
  return std::string(text);
}

}  // namespace

Status SacctReader::line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (columns_.empty()) return text.empty() ? Status() : header(text);
  if (text_.size() + text.size() > kLongestRecord) {
    text_.clear();
    return failure("it does not end");
  }
  if (!text_.empty()) text_ += '\n';
  if (text_.empty() && text.empty()) return {};
  text_ += text;
  cells_.clear();
  for (std::string_view rest = text_;;) {
    const size_t end = rest.find(delimiter_);
    cells_.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + delimiter_.size());
  }
  if (cells_.size() < columns_.size()) {
    // The line either continues the record, or it is the rest of the last column of the record before.
    const bool begins = !starts_with_id_ || (is_digit(text_.front()) && cells_.size() > 1);
    if (!begins) text_.clear();
    return {};
  }
  Status done;
  // With -p each line has one more cell, an empty one, at the end.
  const bool one_more = cells_.size() == columns_.size() + 1 && cells_.back().empty();
  if (cells_.size() > columns_.size() && !one_more) {
    done = failure("it has " + std::to_string(cells_.size()) + " columns, not " +
                   std::to_string(columns_.size()) + ": a text in it has the delimiter in it");
  } else {
    done = record();
  }
  text_.clear();
  return done;
}

Status SacctReader::header(std::string_view text) {
  const size_t end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_name) - text.begin());
  const size_t next = static_cast<size_t>(
      std::find_if(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), is_name) - text.begin());
  if (end == 0 || end == text.size())
    return failure("the first line must have the names of columns, as sacct -P prints them");
  delimiter_ = text.substr(end, next - end);
  size_t number = 0;
  std::unordered_map<std::string, size_t> columns;
  for (std::string_view rest = text;;) {
    const size_t at = rest.find(delimiter_);
    const std::string_view name = rest.substr(0, at);
    if (!name.empty()) columns.emplace(lower_case(name), number++);
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at + delimiter_.size());
  }
  if (number > kMostColumns || number != columns.size()) return failure("a column is there twice");
  for (const std::string_view needed : kNeeded) {
    if (!columns.contains(lower_case(needed)))
      return failure("there is no column " + bytes(needed) + " (sacct -P --format=ALL has all of them)");
  }
  columns_ = std::move(columns);
  starts_with_id_ = (columns_.contains("jobid") && columns_["jobid"] == 0) ||
                    (columns_.contains("jobidraw") && columns_["jobidraw"] == 0);
  return {};
}

std::string_view SacctReader::cell(std::string_view name) const {
  const auto found = columns_.find(std::string(name));
  return found == columns_.end() ? std::string_view() : cells_[found->second];
}

int64_t SacctReader::time(std::string_view name) const {
  const std::string_view text = cell(name);
  if (const auto plain = parse_unsigned(text, INT64_MAX / 4); plain && *plain >= kFirstPlainSeconds)
    return static_cast<int64_t>(*plain);
  // Accepts absolute dates only, or nothing.
  if (text.size() < 10 || (!is_digit(text.front()) && !text.starts_with("uts"))) return 0;
  const auto value = parse_time(text, 0);
  return value && *value > 0 ? *value : 0;
}

uint64_t SacctReader::number(std::string_view name) const {
  return parse_unsigned(cell(name), kMostAmount).value_or(0);
}

void SacctReader::read_times_used(model::Usage& usage) const {
  usage.set_user_microseconds(microseconds(cell("usercpu")));
  usage.set_system_microseconds(microseconds(cell("systemcpu")));
  if (cell("usercpu").empty() && cell("systemcpu").empty())
    usage.set_user_microseconds(microseconds(cell("totalcpu")));
  usage.set_energy_joules(number("consumedenergyraw"));
}

Status SacctReader::record() {
  const std::string_view id = cell("jobid");
  const size_t dot = id.find('.');
  if (dot == std::string_view::npos) {
    close();
    return job();
  }
  if (!open_ || id.substr(0, dot) != job_id_) return {};  // of a job that was skipped
  return step(id.substr(dot + 1));
}

Status SacctReader::job() {
  JobRecord& job = job_.job;
  job = JobRecord();
  if (const Status read = read_id(); !read) return read;
  const std::string_view state = cell("state");
  const auto word = parse_job_state(state.substr(0, state.find(' ')));
  if (!word || !word->state) return failure(std::string("'").append(state) + "' is no state of a job");
  const bool unfinished = *word->state <= model::JOB_SUSPENDED || time("end") == 0;
  if (time("submit") == 0 || (unfinished && wanted_ == Unfinished::kPassOver)) {
    ++unfinished_;
    return {};
  }
  job.set_state(*word->state);
  if (const size_t by = state.find(" by "); by != std::string_view::npos)
    job.set_cancelled_by_uid(
        static_cast<uint32_t>(parse_unsigned(state.substr(by + 4), 0xffffffff).value_or(0)));
  else if (job.state() == model::JOB_CANCELLED)
    job.set_cancelled_by_uid(model::kNobody);
  const auto restarts = parse_unsigned(cell("restarts"), 1'000'000);
  uint32_t& runs = runs_[job.job_id()];
  job.set_restarts(std::max<uint32_t>(runs, restarts ? static_cast<uint32_t>(*restarts) : 0));
  runs = job.restarts() + 1;
  read_owner();
  read_outcome();
  read_resources();
  read_spec();
  hold_nodes();
  open_ = true;
  job_id_ = cell("jobid");
  return {};
}

Status SacctReader::read_id() {
  JobRecord& job = job_.job;
  const std::string_view id = cell("jobid");
  const auto reference = parse_job_id(id);
  if (!reference) return failure(std::string("'").append(id) + "' is no job's number");
  const bool of_array = reference->tasks.ranges_size() > 0;
  const auto raw = parse_unsigned(cell("jobidraw"), 0x7fffffff);
  if ((of_array || reference->het_offset) && !raw)
    return failure(bytes(id) + ": of arrays and heterogeneous jobs JobIDRaw is needed");
  job.set_job_id(raw ? static_cast<uint32_t>(*raw) : reference->job_id);
  if (job.job_id() == 0 || job.job_id() > 0x7fffffff) return failure(bytes(id) + " is no number for a job");
  if (reference->het_offset) {
    job.set_het_job_id(reference->job_id);
    job.set_het_job_offset(*reference->het_offset);
  } else if (of_array) {
    job.set_array_job_id(reference->job_id);
    if (id.find('[') == std::string_view::npos) {
      job.set_array_task_id(reference->tasks.ranges(0).first());
    } else {
      *job.mutable_array_pending() = reference->tasks;
    }
  }
  return {};
}

// Reads who owns the job, and which account it counts against.
void SacctReader::read_owner() {
  JobRecord& job = job_.job;
  job.set_uid(static_cast<uint32_t>(parse_unsigned(cell("uid"), 0xfffffffe).value_or(kNoUser)));
  job.set_gid(static_cast<uint32_t>(parse_unsigned(cell("gid"), 0xfffffffe).value_or(kNoUser)));
  job.set_user_name(bytes(cell("user")));
  job.set_group_name(bytes(cell("group")));
  job.set_account(bytes(cell("account")));
  job.set_partition(bytes(cell("partition")));
  job.set_qos(bytes(cell("qos")));
}

// Reads when it ran, how it ended, and where its streams went.
void SacctReader::read_outcome() {
  JobRecord& job = job_.job;
  job.set_exit_code(wait_status(cell("exitcode")));
  job.set_derived_exit_code(wait_status(cell("derivedexitcode")));
  job.set_priority(static_cast<uint32_t>(std::min<uint64_t>(number("priority"), 0xffffffff)));
  job.set_submit_time(time("submit"));
  job.set_eligible_time(columns_.contains("eligible") ? time("eligible") : job.submit_time());
  job.set_start_time(time("start"));
  if (time("end") != 0) job.set_end_time(std::max(time("end"), job.start_time()));
  job.set_suspended_seconds(static_cast<int64_t>(microseconds(cell("suspended")) / 1'000'000));
  const auto minutes =
      cell("timelimitraw").empty() ? parse_minutes(cell("timelimit")) : parse_minutes(cell("timelimitraw"));
  job.set_time_limit_minutes(minutes.value_or(kUnlimited));
  job.set_stdin_path(bytes(cell("stdin")));
  job.set_stdout_path(bytes(cell("stdout")));
  job.set_stderr_path(bytes(cell("stderr")));
}

// Reads what it had, and what it used of that.
void SacctReader::read_resources() {
  JobRecord& job = job_.job;
  if (cell("nodelist") != "None assigned") job.set_node_list(bytes(cell("nodelist")));
  const TresAmounts tres = parse_tres(cell("alloctres").empty() ? cell("reqtres") : cell("alloctres"));
  job.mutable_tres_gres()->Add(tres.gres.begin(), tres.gres.end());
  const auto first_of = [&](uint64_t value, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) value = value != 0 ? value : number(name);
    return static_cast<uint32_t>(std::min<uint64_t>(value, 0x7fffffff));
  };
  job.set_num_cpus(first_of(tres.cpus, {"alloccpus", "ncpus", "reqcpus"}));
  job.set_num_nodes(first_of(tres.nodes, {"allocnodes", "nnodes", "reqnodes"}));
  job.set_memory_mib(tres.memory_mib);
  const auto billing = static_cast<double>(tres.billing.value_or(0));
  if (billing != job.num_cpus()) job.set_billing(billing);
  read_times_used(*job.mutable_usage());
}

// Reads what it was submitted with, as far as sacct reports that.
void SacctReader::read_spec() {
  JobSpec& spec = *job_.job.mutable_spec();
  constexpr std::pair<std::string_view, void (JobSpec::*)(const std::string&)> kTexts[] = {
      {"jobname", &JobSpec::set_name},
      {"workdir", &JobSpec::set_work_dir},
      {"submitline", &JobSpec::set_submit_line},
      {"comment", &JobSpec::set_comment},
      {"admincomment", &JobSpec::set_admin_comment},
      {"constraints", &JobSpec::set_constraint},
      {"licenses", &JobSpec::set_licenses},
      {"reservation", &JobSpec::set_reservation},
      {"wckey", &JobSpec::set_wckey},
      {"container", &JobSpec::set_container},
      {"extra", &JobSpec::set_extra},
      {"qos", &JobSpec::set_qos},
      {"account", &JobSpec::set_account},
      {"partition", &JobSpec::set_partition},
      {"mcslabel", &JobSpec::set_mcs_label},
      {"stdin", &JobSpec::set_stdin_path},
      {"stdout", &JobSpec::set_stdout_path},
      {"stderr", &JobSpec::set_stderr_path}};
  for (const auto& [name, set] : kTexts) (spec.*set)(bytes(cell(name)));
}

// Spreads what it held over its nodes in equal parts; for a job that never began, takes what it asked for.
void SacctReader::hold_nodes() {
  JobRecord& job = job_.job;
  if (job.node_list().empty()) {
    JobSpec& spec = *job.mutable_spec();
    spec.set_min_nodes(std::max(1u, job.num_nodes()));
    spec.set_ntasks(std::max(1u, job.num_cpus()));
    if (job.memory_mib() > 0) spec.set_mem_per_node_mib(job.memory_mib() / spec.min_nodes());
    return;
  }
  auto names = expand_hostlist(job.node_list());
  if (!names || names->empty() || names->size() > kMostNodes) names = std::vector{job.node_list()};
  const auto count = static_cast<uint32_t>(names->size());
  for (uint32_t i = 0; i < count; ++i) {
    model::NodeAllocation& node = *job.add_nodes();
    node.set_node(names->at(i));
    node.set_cpus(job.num_cpus() / count + (i < job.num_cpus() % count ? 1 : 0));
    node.set_memory_mib(job.memory_mib() / count);
  }
}

Status SacctReader::step(std::string_view suffix) {
  model::StepRecord step;
  const JobRecord& job = job_.job;
  const auto numbered = parse_unsigned(suffix, 0xfffffff0);
  if (!numbered && suffix != "batch" && suffix != "extern" && suffix != "interactive")
    return failure(std::string("'").append(suffix) + "' is no step");
  step.set_kind(numbered             ? model::STEP_NORMAL
                : suffix == "batch"  ? model::STEP_BATCH
                : suffix == "extern" ? model::STEP_EXTERN
                                     : model::STEP_INTERACTIVE);
  step.set_step_id(numbered ? static_cast<uint32_t>(*numbered) : 0);
  step.set_job_id(job.job_id());
  step.set_restarts(job.restarts());
  step.set_array_job_id(job.array_job_id());
  if (job.has_array_task_id()) step.set_array_task_id(job.array_task_id());
  step.set_name(bytes(cell("jobname")));
  const std::string_view state = cell("state");
  const auto word = parse_job_state(state.substr(0, state.find(' ')));
  step.set_state(word && word->state ? *word->state : model::JOB_COMPLETE);
  step.set_exit_code(wait_status(cell("exitcode")));
  step.set_start_time(time("start"));
  if (time("end") != 0) step.set_end_time(std::max(time("end"), step.start_time()));
  if (cell("nodelist") != "None assigned") step.set_node_list(bytes(cell("nodelist")));
  const TresAmounts tres = parse_tres(cell("alloctres"));
  step.mutable_tres_gres()->Add(tres.gres.begin(), tres.gres.end());
  const auto whole = [&](uint64_t value, std::string_view name) {
    return static_cast<uint32_t>(std::min<uint64_t>(value != 0 ? value : number(name), 0x7fffffff));
  };
  step.set_num_cpus(whole(tres.cpus, "ncpus"));
  step.set_num_nodes(whole(tres.nodes, "nnodes"));
  step.set_memory_mib(tres.memory_mib);
  step.set_num_tasks(std::max(1u, whole(0, "ntasks")));
  step.set_submit_line(bytes(cell("submitline")));
  if (const std::string_view layout = cell("layout"); layout != "Unknown")
    step.set_distribution(bytes(layout));

  read_usage(step.num_tasks(), *step.mutable_usage());
  job_.steps.push_back(std::move(step));
  return {};
}

void SacctReader::read_usage(uint64_t tasks, model::Usage& usage) const {
  read_times_used(usage);
  usage.set_max_rss_kib(amount(cell("maxrss"), 1024));
  usage.set_total_rss_kib(amount(cell("averss"), 1024) * tasks);
  usage.set_read_bytes(amount(cell("avediskread"), 1) * tasks);
  usage.set_write_bytes(amount(cell("avediskwrite"), 1) * tasks);
  usage.set_major_faults(amount(cell("avepages"), 1) * tasks);
  if (!cell("maxrss").empty()) {
    using Extreme = model::Usage::Extreme;
    model::Usage::Extremes& most = *usage.mutable_most();
    const auto extreme = [&](Extreme& one, const std::string& name, uint64_t value) {
      one.set_value(value);
      one.set_node(bytes(cell(name + "node")));
      one.set_task(static_cast<uint32_t>(std::min<uint64_t>(number(name + "task"), 0x7fffffff)));
    };
    extreme(*most.mutable_rss(), "maxrss", amount(cell("maxrss"), 1024));
    extreme(*most.mutable_read(), "maxdiskread", amount(cell("maxdiskread"), 1));
    extreme(*most.mutable_write(), "maxdiskwrite", amount(cell("maxdiskwrite"), 1));
    extreme(*most.mutable_faults(), "maxpages", amount(cell("maxpages"), 1));
    extreme(*usage.mutable_least()->mutable_cpu(), "mincpu", microseconds(cell("mincpu")));
  }
}

void SacctReader::close() {
  if (!open_) return;
  open_ = false;
  // Without a batch step the job counts as interactive, so that no batch step is made up for it.
  job_.job.mutable_spec()->set_interactive(
      std::none_of(job_.steps.begin(), job_.steps.end(),
                   [](const model::StepRecord& step) { return step.kind() == model::STEP_BATCH; }));
  ready_.push_back(std::exchange(job_, {}));
}

void SacctReader::finish() {
  close();
}

std::vector<AccountedRecords> SacctReader::take() {
  return std::exchange(ready_, {});
}

}  // namespace minke::text
