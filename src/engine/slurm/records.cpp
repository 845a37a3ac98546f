// SlurmEngine: the accounting record, by sacct. Its text is the same in all releases, and an eighth as long
// as its JSON.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/state/job_matcher.h"
#include "engine/slurm/slurm_engine.h"
#include "model/job_state.pb.h"
#include "text/job_id.h"
#include "text/sacct_records.h"
#include "text/state.h"
#include "text/timestamp.h"

namespace minke::engine::slurm {
namespace {

constexpr size_t kJobsInPart = 500;

// What there is in all releases from 22.05 on, with the texts of users last.
constexpr const char* kColumns =
    "JobID,JobIDRaw,State,User,UID,Group,GID,Account,Partition,QOS,Submit,Eligible,Start,End,Suspended,"
    "ExitCode,DerivedExitCode,TimelimitRaw,Priority,AllocTRES,ReqTRES,NCPUS,NNodes,NTasks,NodeList,"
    "UserCPU,SystemCPU,TotalCPU,MinCPU,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,MaxDiskRead,MaxDiskReadNode,"
    "MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,MaxPages,"
    "MaxPagesNode,MaxPagesTask,AvePages,ConsumedEnergyRaw,Layout,Reservation,Constraints,WCKey,Comment,"
    "AdminComment,WorkDir,SubmitLine,JobName";

template <typename List>
void add_option(const char* name, const List& values, std::vector<std::string>& words) {
  std::string list;
  for (const auto& value : values) list += (list.empty() ? "" : ",") + value;
  if (!list.empty()) words.push_back(name + list);
}

std::vector<std::string> sacct_words(const api::QueryAccountingRequest& request, const std::string& mark) {
  const api::JobFilter& filter = request.filter();
  std::vector<std::string> words = {"sacct", "--parsable2", "--noconvert", "--delimiter=" + mark,
                                    std::string("--format=") + kColumns};
  if (!request.with_steps()) words.emplace_back("--allocations");
  if (request.duplicates()) words.emplace_back("--duplicates");
  std::string ids;
  for (const api::JobSelector& job : filter.jobs()) {
    text::JobReference reference;
    reference.job_id = job.job_id();
    ids += (ids.empty() ? "" : ",") + text::format_job_id(reference);
  }
  if (!ids.empty()) words.push_back("--jobs=" + ids);
  std::vector<std::string> users(filter.users().begin(), filter.users().end());
  for (const uint32_t uid : filter.uids()) users.push_back(std::to_string(uid));
  add_option("--user=", users, words);
  if (users.empty()) words.emplace_back("--allusers");  // of whom Slurm shows those that may be seen
  add_option("--partition=", filter.partitions(), words);
  add_option("--accounts=", filter.accounts(), words);
  add_option("--qos=", filter.qos(), words);
  const auto bound = [&](const char* name, int64_t time) { words.push_back(name + text::format_time(time)); };
  if (request.from() != 0 || ids.empty()) bound("--starttime=", std::max<int64_t>(request.from(), 86400));
  if (request.until() != 0) bound("--endtime=", request.until());
  return words;
}

// Where a record stands among the newest.
auto place_of(const api::AccountedJob& one) {
  return std::tuple(one.job().end_time(), one.job().job_id(), one.job().restarts());
}

}  // namespace

Status SlurmEngine::accounting(const api::QueryAccountingRequest& request,
                               const Take<api::AccountingReply>& take) {
  return request.newest() == 0 ? recorded(request, take) : newest(request, take);
}

// sacct has no such order, and no limit. It is asked for windows of time that grow, backwards from where the
// answer begins: so what it reads is about what is wanted, however many jobs there ever were.
Status SlurmEngine::newest(const api::QueryAccountingRequest& request,
                           const Take<api::AccountingReply>& take) {
  constexpr int64_t kFirstWindow = 6 * 3600, kOldest = int64_t{20} * 365 * 86400;
  constexpr uint64_t kMostRead = 20000;
  const api::AccountingPlace& behind = request.behind();
  const bool is_first = behind.end_time() == 0;
  int64_t until = is_first ? std::time(nullptr) + 1 : behind.end_time();
  const int64_t floor = std::max(request.from(), until - kOldest);
  api::QueryAccountingRequest asked = request;
  asked.clear_newest();
  asked.clear_behind();
  std::vector<api::AccountedJob> found;
  uint64_t read = 0;
  for (int64_t window = kFirstWindow; until >= floor && found.size() < request.newest() && read < kMostRead;
       window *= 4) {
    const int64_t from = std::max(floor, until - window);
    asked.set_from(from);
    asked.set_until(until + 1);  // what began and ended in that second is in it
    const Status done = recorded(asked, [&](api::AccountingReply& part) -> Status {
      for (api::AccountedJob& one : *part.mutable_jobs()) {
        ++read;
        const int64_t end = one.job().end_time();
        const bool has_ended = one.job().state() > model::JOB_SUSPENDED;
        const bool is_behind =
            is_first || place_of(one) < std::tuple(behind.end_time(), behind.job_id(), behind.restarts());
        if (has_ended && is_behind && end >= from && end <= until) found.push_back(std::move(one));
      }
      return {};
    });
    if (!done) return done;
    until = from - 1;
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return place_of(a) > place_of(b); });
  api::AccountingReply reply;
  reply.set_now(std::time(nullptr));
  if (found.size() >= request.newest()) {
    found.resize(request.newest());
    const model::JobRecord& last = found.back().job();
    reply.mutable_next()->set_end_time(last.end_time());
    reply.mutable_next()->set_job_id(last.job_id());
    reply.mutable_next()->set_restarts(last.restarts());
  } else if (until >= floor) {
    reply.mutable_next()->set_end_time(until + 1);
  }
  for (api::AccountedJob& one : found) *reply.add_jobs() = std::move(one);
  return take(reply);
}

Status SlurmEngine::recorded(const api::QueryAccountingRequest& request,
                             const Take<api::AccountingReply>& take) {
  const JobMatcher matcher(request.filter(), Viewer{.uid = ::getuid(), .sees_all = true});
  text::SacctReader reader(text::SacctReader::Unfinished::kTake);
  const auto give = [&]() -> Status {
    api::AccountingReply part;
    part.set_now(std::time(nullptr));
    for (text::AccountedRecords& one : reader.take()) {
      const bool wanted =
          matcher.selected(one.job) && matcher.passes(one.job) && matcher.has_state(one.job.state());
      if (!wanted) continue;
      api::AccountedJob& job = *part.add_jobs();
      *job.mutable_job() = std::move(one.job);
      for (model::StepRecord& step : one.steps) *job.add_steps() = std::move(step);
    }
    return take(part);
  };
  const Status read =
      programs_.lines(sacct_words(request, unguessed_mark()), [&](std::string_view line) -> Status {
        // A record that cannot be read is one job less, not the end of the answer.
        [[maybe_unused]] const Status done = reader.line(line);
        return reader.ready() < kJobsInPart ? Status() : give();
      });
  if (!read) return read;
  reader.finish();
  return give();
}

Result<std::string> SlurmEngine::ask_script(uint32_t job_id) const {
  // Of a job in the queue from slurmctld; of one that has ended, where the cluster keeps scripts, from
  // slurmdbd.
  auto script = programs_.text({"scontrol", "write", "batch_script", std::to_string(job_id), "-"});
  if (script) return script;
  std::string kept;
  const auto stored = programs_.text({"sacct", "--batch-script", "--jobs=" + std::to_string(job_id)});
  const size_t line = stored ? stored->find("\n---") : std::string::npos;
  const size_t begin = line == std::string::npos ? line : stored->find('\n', line + 1);
  if (begin != std::string::npos) kept = stored->substr(begin + 1);
  if (kept.empty() || kept.starts_with("NONE")) return script;
  return kept;
}

// Kept, as all that slurmctld is asked for: a few files take turns. Parts: the job, a failure's code or -1,
// the script or the failure.
Result<std::string> SlurmEngine::script(uint32_t job_id) {
  constexpr uint32_t kScriptsKept = 16;
  const std::string kind = "script-" + std::to_string(job_id % kScriptsKept), own = std::to_string(job_id);
  std::vector<std::string> parts;
  const auto get = [&] {
    parts.clear();
    return answers_.get({.kind = kind,
                         .ask = [&](const SharedAnswers::TakePart& give) -> Status {
                           const auto told = ask_script(job_id);
                           if (!told && told.error().code == ECONNREFUSED) return failure(told.error());
                           if (const Status given = give(own); !given) return given;
                           const int code = told ? -1 : told.error().code;
                           if (const Status given = give(std::to_string(code)); !given) return given;
                           return give(told ? *told : told.error().message);
                         },
                         .period = [this] { return period(); }},
                        [&](std::string_view part) -> Status {
                          parts.emplace_back(part);
                          return {};
                        });
  };
  auto got = get();
  if (got && (parts.size() != 3 || parts[0] != own)) {
    answers_.forget(kind);
    got = get();
  }
  if (!got) return failure(got.error());
  if (parts.size() != 3) return failure("what was kept of a script cannot be read", EIO);
  if (parts[1] != "-1") return failure(Error{std::atoi(parts[1].c_str()), parts[2]});
  return parts[2];
}

}  // namespace minke::engine::slurm
