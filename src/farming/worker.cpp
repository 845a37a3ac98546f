#include "farming/worker.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <optional>

#include "farm/cut_off.h"
#include "farming/case_process.h"
#include "farming/keeper.h"
#include "farming/reclaim.h"
#include "farming/worker_files.h"
#include "os/shortage.h"
#include "text/number.h"

namespace minke::farming {
namespace {

constexpr int64_t kSyncEveryUs = 1'000'000;
constexpr int64_t kLookForCutOffUs = 5'000'000;
constexpr int64_t kForDiskUs = 1'000'000;
constexpr int64_t kForProcessesUs = 60'000'000, kBetweenTriesUs = 200'000;
// Longer than who ends several processes, one by one, takes from the first one to the last.
constexpr int64_t kEndedTogetherUs = 2'000'000;

int64_t clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

sigset_t watched_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int one : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, kKeeperDied}) ::sigaddset(&signals, one);
  return signals;
}

struct Slot {
  pid_t pid = 0;           // 0: free
  bool is_marked = false;  // worker.N.running names a case of it
  farm::Outcome outcome;
  int64_t began_us = 0;  // of the monotonic clock
};

class Worker {
 public:
  Worker(const WorkerSettings& settings, Cases& cases, Journal& journal)
      : settings_(settings), cases_(cases), journal_(journal), slots_(settings.slots) {}

  Status join();
  Status work();
  Status leave();
  void end_cases();
  WorkerEnd end() const {
    return {why_.value_or(Farewell::kNoneLeft), files_->tally().ended, files_->tally().ok, number_};
  }

 private:
  farm::Seeker seeker() const { return {settings_.level, settings_.host}; }
  Status fill();
  void clear_marks();
  Result<bool> claim();
  Status claim_in_turn();
  Status find_cut_off();
  Status put_retries_back();
  uint64_t at_once() const;
  bool has_time() const;
  Status start(uint16_t slot, uint64_t number, uint32_t attempt);
  Result<pid_t> launch(const CaseCommand& command, uint16_t slot);
  Status wait_for_some();
  Status reap();
  Status close(uint16_t slot, int status, const rusage& usage);
  bool is_ending(int64_t patience_us);
  Status finish(uint16_t slot);
  void heed(int signal);
  void die_with_keeper();
  Status record(const farm::Outcome& outcome);
  void count_for_guard(const farm::Outcome& outcome);
  void say_disk_is_full(const Error& error);

  const WorkerSettings& settings_;
  Cases& cases_;
  Journal& journal_;
  std::optional<WorkerFiles> files_;
  CaseStarter starter_;
  const pid_t keeper_ = ::getppid();
  uint32_t number_ = 0;
  std::vector<Slot> slots_;
  uint32_t busy_ = 0;
  std::deque<farm::Range> queue_;  // taken, not started
  std::vector<farm::Entry> retries_;
  uint64_t started_ = 0, short_ones_ = 0, long_ones_ = 0;
  uint64_t oom_kills_ = 0;
  int64_t synced_us_ = 0, looked_for_cut_off_us_ = 0;
  bool told_to_stop_ = false, disk_is_full_ = false, waits_for_disk_ = false;
  std::optional<Farewell> why_;  // no more cases are started, and why
};

Status Worker::join() {
  const auto turn = Turn::take(journal_);
  if (!turn) return failure(turn.error());
  const std::string boot = boot_id();
  if (SharedLock::are_local(settings_.directory)) {
    for (const auto& [other, member] : journal_.ledger().members())
      if (!member.gone && member.boot != boot)
        return failure(settings_.directory +
                       ": this file system keeps locks on one machine alone, and worker " +
                       std::to_string(other) + " is on another, " + member.host +
                       ": run the farm on one node, or put it on a file system that is mounted with locks");
  }
  number_ = journal_.ledger().next_worker();
  if (const Status alive = journal_.be_alive(number_); !alive) return alive;
  auto files = WorkerFiles::create(settings_.directory, number_, settings_.slots, settings_.keeps_output);
  if (!files) return failure(files.error());
  files_ = std::move(*files);
  farm::Entry entry;
  entry.kind = farm::EntryKind::kWorker;
  entry.worker = number_;
  entry.count = settings_.slots;
  entry.level = settings_.level;
  entry.time = ::time(nullptr);
  entry.text = (settings_.job.empty() ? "-" : settings_.job) + " " + settings_.host + " " + boot;
  oom_kills_ = out_of_memory_kills();
  return journal_.add({entry});
}

Status Worker::work() {
  for (;;) {
    const uint64_t before = started_;
    waits_for_disk_ = false;
    if (const Status filled = fill(); !filled) return filled;
    clear_marks();
    if (busy_ == 0) {
      if (why_ || (started_ == before && !waits_for_disk_)) return {};
      continue;
    }
    if (const Status waited = wait_for_some(); !waited) return waited;
    if (const int64_t now = clock_us(CLOCK_MONOTONIC); now - synced_us_ >= kSyncEveryUs) {
      synced_us_ = now;
      if (const Status synced = files_->sync(); !synced) say_disk_is_full(synced.error());
    }
  }
}

// Starts cases in all free slots.
Status Worker::fill() {
  for (uint16_t slot = 0; slot < slots_.size() && !why_; ++slot) {
    if (slots_[slot].pid != 0) continue;
    if (settings_.most_cases != 0 && started_ >= settings_.most_cases) why_ = Farewell::kEnough;
    if (!has_time()) why_ = Farewell::kNoTime;
    if (why_) return {};
    if (queue_.empty()) {
      const auto claimed = claim();
      if (!claimed) return failure(claimed.error());
      if (!*claimed) return {};
    }
    if (const Status room = files_->make_room(slots_.size()); !room) {
      say_disk_is_full(room.error());
      return {};
    }
    farm::Range& range = queue_.front();
    const uint64_t number = range.first;
    const uint32_t attempt = range.attempt;
    ++range.first;
    if (--range.count == 0) queue_.pop_front();
    if (const Status begun = start(slot, number, attempt); !begun) return begun;
  }
  return {};
}

// A slot that found nothing to do runs nothing, as others see it.
void Worker::clear_marks() {
  for (uint16_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].pid == 0 && slots_[slot].is_marked) slots_[slot].is_marked = !files_->began(slot, {});
}

// False: nothing for now.
Result<bool> Worker::claim() {
  Status done;
  {
    const auto turn = Turn::take(journal_);
    done = turn ? claim_in_turn() : Status(failure(turn.error()));
  }
  if (!done && (done.error().code == ENOSPC || done.error().code == EDQUOT)) {
    say_disk_is_full(done.error());
    return false;
  }
  if (!done) return failure(done.error());
  return !queue_.empty();
}

Status Worker::claim_in_turn() {
  if (const auto self = journal_.ledger().members().find(number_);
      self == journal_.ledger().members().end() || self->second.gone)
    return failure("worker " + std::to_string(number_) +
                   " was taken for dead: its file system lost its locks");
  if (const Status back = put_retries_back(); !back) return back;
  if (const Status found = find_cut_off(); !found) return found;
  if (journal_.ledger().stopped()) {
    why_ = Farewell::kFarmStopped;
    return {};
  }
  if (!has_time()) {
    why_ = Farewell::kNoTime;
    return {};
  }
  auto next = journal_.ledger().next(seeker(), at_once());
  if (!next) {
    const auto dead = account_for_the_dead(journal_, settings_.rule, number_);
    if (!dead) return failure(dead.error());
    if (*dead > 0) next = journal_.ledger().next(seeker(), at_once());
  }
  if (!next) return {};
  farm::Entry entry;
  entry.kind = farm::EntryKind::kTake;
  entry.worker = number_;
  entry.first = next->first;
  entry.count = next->count;
  entry.attempt = next->attempt;
  entry.time = ::time(nullptr);
  if (const Status taken = journal_.add({entry}); !taken) return taken;
  queue_.push_back(*next);
  return {};
}

uint64_t Worker::at_once() const {
  farm::Share share;
  const farm::Tally& tally = files_->tally();
  if (tally.ended > 0) share.mean_run_us = std::max<uint64_t>(1, tally.run_us / tally.ended);
  share.slots = settings_.slots;
  share.left = journal_.ledger().left_for(seeker());
  share.workers = 0;
  for (const auto& [number, member] : journal_.ledger().members()) share.workers += member.gone ? 0 : 1;
  share.pace_us = std::max<uint64_t>(1'000'000, share.workers * 20'000);
  uint64_t cases = farm::cases_at_once(share);
  if (settings_.guard_cases > tally.ended) cases = std::min<uint64_t>(cases, settings_.slots);
  if (settings_.most_cases != 0) cases = std::min(cases, settings_.most_cases - started_);
  return cases;
}

// In a turn. From the run times of all workers, when twice as many cases have ended as at the last time.
Status Worker::find_cut_off() {
  const farm::Ledger& ledger = journal_.ledger();
  const int64_t now = clock_us(CLOCK_MONOTONIC);
  if (settings_.end_time == 0 ||
      !farm::wants_cut_off(ledger.cases() - ledger.fresh(), ledger.cut_off_from()) ||
      (looked_for_cut_off_us_ != 0 && now - looked_for_cut_off_us_ < kLookForCutOffUs))
    return {};
  looked_for_cut_off_us_ = now;
  uint64_t done = 0;
  for (const auto& [number, member] : ledger.members()) {
    const auto tally =
        number == number_ ? Result<farm::Tally>(files_->tally()) : tally_of(settings_.directory, number);
    if (!tally) return failure(tally.error());
    done += tally->ended;
  }
  if (!farm::wants_cut_off(done, ledger.cut_off_from())) return {};
  std::vector<uint64_t> run_times;
  for (const auto& [number, member] : ledger.members()) {
    const Status read = for_each_outcome(settings_.directory, number, 0, [&](const farm::Outcome& outcome) {
      run_times.push_back(outcome.run_us);
    });
    if (!read) return read;
  }
  if (run_times.empty()) return {};
  farm::Entry entry;
  entry.kind = farm::EntryKind::kCutOff;
  entry.count = farm::cut_off_mark(done);
  entry.first = farm::longest_eighth(std::move(run_times));
  return journal_.add({entry});
}

bool Worker::has_time() const {
  if (settings_.end_time == 0) return true;
  const int64_t left_us = settings_.end_time * 1'000'000 - clock_us(CLOCK_REALTIME);
  return left_us > static_cast<int64_t>(journal_.ledger().cut_off_us().value_or(0));
}

Status Worker::put_retries_back() {
  if (retries_.empty()) return {};
  if (const Status added = journal_.add(retries_); !added) return added;
  retries_.clear();
  return {};
}

Status Worker::start(uint16_t slot, uint64_t number, uint32_t attempt) {
  Slot& place = slots_[slot];
  place.outcome = {};
  place.outcome.number = number;
  place.outcome.attempt = attempt;
  place.outcome.slot = slot;
  place.outcome.started_ms = clock_us(CLOCK_REALTIME) / 1000;
  place.outcome.output_at = files_->output_size(slot);
  place.began_us = clock_us(CLOCK_MONOTONIC);
  ++started_;
  if (const Status begun = files_->began(slot, {number, attempt, place.outcome.started_ms}); !begun)
    return begun;
  place.is_marked = true;
  const auto command = cases_.command(number, attempt, slot);
  const auto pid = command ? launch(*command, slot) : Result<pid_t>(failure(command.error()));
  if (pid) {
    place.pid = *pid;
    ++busy_;
    return {};
  }
  std::fprintf(stderr, "case %llu: %s\n", static_cast<unsigned long long>(number),
               pid.error().message.c_str());
  place.outcome.ending = told_to_stop_ ? farm::Ending::kStopped : farm::Ending::kNotStarted;
  place.outcome.code = pid.error().code;
  return finish(slot);
}

// A machine that has no room for a process at the moment is no fault of the case.
Result<pid_t> Worker::launch(const CaseCommand& command, uint16_t slot) {
  const int64_t until = clock_us(CLOCK_MONOTONIC) + kForProcessesUs;
  for (;;) {
    auto pid = starter_.start(command, files_->output(slot));
    if (pid || !os::is_shortage(pid.error().code) || clock_us(CLOCK_MONOTONIC) > until) return pid;
    if (is_ending(kBetweenTriesUs)) return pid;
  }
}

Status Worker::wait_for_some() {
  static const sigset_t signals = watched_signals();
  const timespec patience{1, 0};
  const int signal = ::sigtimedwait(&signals, nullptr, &patience);
  if (signal > 0) heed(signal);
  die_with_keeper();
  return reap();
}

Status Worker::reap() {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return {};
    for (uint16_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot].pid != pid) continue;
      if (const Status closed = close(slot, status, usage); !closed) return closed;
      break;
    }
  }
}

Status Worker::close(uint16_t slot, int status, const rusage& usage) {
  Slot& place = slots_[slot];
  farm::Outcome& outcome = place.outcome;
  // What it left behind must not write into the output of the next case.
  if (settings_.keeps_output) ::kill(-place.pid, SIGKILL);
  place.pid = 0;
  --busy_;
  outcome.run_us = static_cast<uint64_t>(clock_us(CLOCK_MONOTONIC) - place.began_us);
  outcome.output_bytes = files_->output_size(slot) - outcome.output_at;
  outcome.max_rss_kib = static_cast<uint32_t>(usage.ru_maxrss);
  outcome.ending = WIFSIGNALED(status) ? farm::Ending::kSignalled : farm::Ending::kExited;
  outcome.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  const int signal = WIFSIGNALED(status) ? outcome.code : outcome.code - 128;  // as shells tell it
  if (signal == SIGKILL) {
    const uint64_t kills = out_of_memory_kills();
    if (kills > oom_kills_) outcome.ending = farm::Ending::kOutOfMemory;
    oom_kills_ = kills;
  }
  if (!outcome.ok() && outcome.ending != farm::Ending::kOutOfMemory) {
    const bool may_be_ended = signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    if (is_ending(may_be_ended ? kEndedTogetherUs : 0)) outcome.ending = farm::Ending::kStopped;
  }
  return finish(slot);
}

// Whether this worker is told to stop, within `patience_us`. Who ends a job process by process may reach a
// case before its worker: told to stop, it knows that the case is stopped, not failed; killed, it leaves it
// for lost.
bool Worker::is_ending(int64_t patience_us) {
  static const sigset_t signals = watched_signals();
  const int64_t until = clock_us(CLOCK_MONOTONIC) + patience_us;
  while (!told_to_stop_) {
    const int64_t left = std::max<int64_t>(0, until - clock_us(CLOCK_MONOTONIC));
    const timespec patience{left / 1'000'000, left % 1'000'000 * 1000};
    const int signal = ::sigtimedwait(&signals, nullptr, &patience);
    if (signal > 0) heed(signal);
    if (signal < 0 && errno == EAGAIN) break;
  }
  return told_to_stop_;
}

Status Worker::finish(uint16_t slot) {
  farm::Outcome& outcome = slots_[slot].outcome;
  const farm::Decision decision = farm::decide(settings_.rule, outcome, settings_.level);
  outcome.again = decision.again;
  if (const Status recorded = record(outcome); !recorded) return recorded;
  if (decision.again) {
    retries_.push_back({farm::EntryKind::kRetry, number_, outcome.number, 1, outcome.attempt + 1,
                        decision.level, ::time(nullptr), decision.other_host ? settings_.host : ""});
  }
  count_for_guard(outcome);
  return {};
}

// Until there is room for it: what has ended must not be forgotten.
Status Worker::record(const farm::Outcome& outcome) {
  for (;;) {
    const Status recorded = files_->ended(outcome);
    if (recorded) return {};
    if (recorded.error().code != ENOSPC && recorded.error().code != EDQUOT) return recorded;
    say_disk_is_full(recorded.error());
  }
}

void Worker::count_for_guard(const farm::Outcome& outcome) {
  if (settings_.guard_cases == 0) return;
  const bool is_short = static_cast<double>(outcome.run_us) < settings_.guard_seconds * 1e6;
  ++(is_short ? short_ones_ : long_ones_);
  if (long_ones_ == 0 && short_ones_ == settings_.guard_cases && !why_) why_ = Farewell::kGuard;
}

void Worker::heed(int signal) {
  if (signal == SIGCHLD) return;
  if (signal == kKeeperDied) return die_with_keeper();
  if (!why_) why_ = Farewell::kStopped;
  if (signal == SIGUSR1 || told_to_stop_) return;
  told_to_stop_ = true;
  for (const Slot& slot : slots_)
    if (slot.pid != 0) ::kill(-slot.pid, SIGTERM);
}

// Nobody would end what a worker without a keeper leaves behind. Others run its cases again.
void Worker::die_with_keeper() {
  if (::getppid() == keeper_) return;
  end_cases();
  ::_exit(1);
}

// Says it once, and waits for a while.
void Worker::say_disk_is_full(const Error& error) {
  if (!disk_is_full_)
    std::fprintf(stderr, "farm: %s; no case is started until there is room\n", error.message.c_str());
  disk_is_full_ = waits_for_disk_ = true;
  static const sigset_t signals = watched_signals();
  const timespec patience{kForDiskUs / 1'000'000, 0};
  const int signal = ::sigtimedwait(&signals, nullptr, &patience);
  if (signal > 0) heed(signal);
}

// After an error: nothing of this worker goes on once others may take its cases.
void Worker::end_cases() {
  for (Slot& slot : slots_) {
    if (slot.pid == 0) continue;
    ::kill(-slot.pid, SIGKILL);
    while (::waitpid(slot.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    slot.pid = 0;
  }
  end_descendants();
}

Status Worker::leave() {
  if (const Status synced = files_->sync(); !synced) return synced;
  const auto turn = Turn::take(journal_);
  if (!turn) return failure(turn.error());
  const auto self = journal_.ledger().members().find(number_);
  if (self == journal_.ledger().members().end() || self->second.gone) return {};
  std::vector<farm::Entry> entries = retries_;
  for (const farm::Range& range : queue_) {
    entries.push_back({farm::EntryKind::kReturn, number_, range.first, range.count, range.attempt,
                       range.attempt == 0 ? 0 : settings_.level, ::time(nullptr), ""});
  }
  entries.push_back({farm::EntryKind::kGone, number_, 0, 0, 0, 0, ::time(nullptr), ""});
  return journal_.add(entries);
}

Result<WorkerEnd> work_as(const WorkerSettings& settings, Cases& cases, Journal& journal) {
  const sigset_t signals = watched_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  Worker worker(settings, cases, journal);
  if (const Status joined = worker.join(); !joined) return failure(joined.error());
  if (const Status worked = worker.work(); !worked) {
    worker.end_cases();
    return failure(worked.error());
  }
  if (const Status left = worker.leave(); !left) return failure(left.error());
  return worker.end();
}

// What the worker's process tells its keeper.
std::string format_end(const Result<WorkerEnd>& end) {
  if (!end) return "error " + std::to_string(end.error().code) + " " + end.error().message;
  return std::to_string(static_cast<int>(end->why)) + " " + std::to_string(end->ended) + " " +
         std::to_string(end->ok) + " " + std::to_string(end->number);
}

Result<WorkerEnd> parse_end(std::string_view text) {
  const auto words = text::split(text, ' ');
  if (words.size() > 2 && words[0] == "error")
    return failure(std::string(text.substr(7 + words[1].size())),
                   static_cast<int>(text::parse_unsigned(words[1]).value_or(0)));
  if (words.size() != 4) return failure("the worker ended without a word");
  WorkerEnd end;
  end.why = static_cast<Farewell>(text::parse_unsigned(words[0]).value_or(0));
  end.ended = text::parse_unsigned(words[1]).value_or(0);
  end.ok = text::parse_unsigned(words[2]).value_or(0);
  end.number = static_cast<uint32_t>(text::parse_unsigned(words[3]).value_or(0));
  return end;
}

}  // namespace

Result<WorkerEnd> run_worker(const WorkerSettings& settings, Cases& cases) {
  auto journal = Journal::open(settings.directory);
  if (!journal) return failure(journal.error());
  const auto told = run_kept([&] { return format_end(work_as(settings, cases, *journal)); });
  if (!told) return failure(told.error());
  return parse_end(*told);
}

}  // namespace minke::farming
