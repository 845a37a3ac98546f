#include "engine/embedded/life_cycle/crontabs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/crontabs.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/life_cycle/submitting.h"
#include "engine/embedded/server/budgets.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/nobody.h"
#include "store/loaded_rows.h"
#include "store/tables.h"
#include "submit/crontab.h"
#include "text/cron.h"

namespace minke::engine {

using model::CrontabRecord;

namespace {

std::vector<uint32_t> jobs_of(const CrontabRecord& crontab) {
  return {crontab.job_ids().begin(), crontab.job_ids().end()};
}

std::string lines_of(const model::CronEntry& entry) {
  return std::to_string(entry.first_line()) + "-" + std::to_string(entry.last_line());
}

}  // namespace

void Crontabs::restore(store::LoadedRows& rows) {
  for (CrontabRecord& crontab : rows.read(store::kCrontabs)) crontabs_[crontab.uid()] = std::move(crontab);
}

void Crontabs::recovered() {
  std::vector<uint32_t> lost;
  for (const auto& [id, job] : core_.state.jobs())
    if (!job->submission->cron.empty() && !has(*job)) lost.push_back(id);
  cancel_waiting(lost, model::kNobody);
}

bool Crontabs::has(const Job& job) const {
  const auto found = crontabs_.find(job.uid);
  if (found == crontabs_.end()) return false;
  const auto& ids = found->second.job_ids();
  return std::find(ids.begin(), ids.end(), job.id) != ids.end();
}

int64_t Crontabs::next_run(const Job& job) const {
  if (job.submission->cron.empty() || !has(job)) return 0;
  const auto line = text::read_cron_times(job.submission->cron);
  return line ? text::next_cron_time(line->times, core_.now()) : 0;
}

void Crontabs::job_ended(Job& job, bool) {
  if (job.submission->cron.empty() || !has(job)) return;
  CrontabRecord crontab = crontabs_.at(job.uid);
  const model::JobSpec spec = job.submission->spec();
  CrontabRecord::Lines& lines = *crontab.add_disabled();
  lines.set_first(spec.cron().first_line());
  lines.set_last(spec.cron().last_line());
  auto& ids = *crontab.mutable_job_ids();
  ids.erase(std::remove(ids.begin(), ids.end(), job.id), ids.end());
  replace(std::move(crontab));
}

void Crontabs::replace(CrontabRecord crontab) {
  core_.committer.row_changed(store::kCrontabs.row(crontab));
  crontabs_[crontab.uid()] = std::move(crontab);
}

void Crontabs::cancel_waiting(const std::vector<uint32_t>& jobs, uint32_t by_uid) {
  for (const uint32_t id : jobs) {
    Job* job = core_.state.find(id);
    if (job != nullptr && job->state == model::JOB_PENDING) core_.lifecycle->cancel(*job, by_uid);
  }
}

Status Crontabs::query(uint32_t of, uint32_t asker, api::CrontabReply& reply) const {
  if (of != asker && !core_.rights->is_operator(asker)) return failure("", model::kInvalidUserId);
  const auto found = crontabs_.find(of);
  if (found != crontabs_.end()) *reply.mutable_crontab() = found->second;
  return {};
}

Status Crontabs::remove(uint32_t of, uint32_t asker) {
  if (of != asker && !core_.rights->is_administrator(asker)) return failure("", model::kInvalidUserId);
  const auto found = crontabs_.find(of);
  if (found == crontabs_.end()) return {};
  const std::vector<uint32_t> jobs = jobs_of(found->second);
  core_.committer.row_changed(store::kCrontabs.no_row(of));
  crontabs_.erase(found);
  cancel_waiting(jobs, asker);
  return {};
}

// As whom the jobs run.
Result<rpc::Peer> Crontabs::owner_of(const api::UpdateCrontabRequest& request, const rpc::Peer& asker) const {
  rpc::Peer owner = asker;
  if (request.uid() == asker.uid) return owner;
  if (!core_.rights->is_administrator(asker.uid)) return failure("", model::kInvalidUserId);
  owner.uid = request.uid();
  owner.gid = core_.rights->primary_group(request.uid());
  if (owner.gid == model::kNobody) return failure("", model::kInvalidUserId);
  return owner;
}

Result<std::vector<api::SubmitRequest>> Crontabs::entries_of(const api::UpdateCrontabRequest& request) const {
  if (request.text().size() > submit::kMostCrontabBytes ||
      static_cast<size_t>(request.entries_size()) > submit::kMostCrontabEntries)
    return failure("a crontab has " + std::to_string(submit::kMostCrontabBytes >> 10) + " KiB and " +
                       std::to_string(submit::kMostCrontabEntries) + " entries at most",
                   model::kPathnameTooLong);
  std::vector<api::SubmitRequest> entries(request.entries().begin(), request.entries().end());
  for (api::SubmitRequest& entry : entries) {
    model::JobSpec& spec = *entry.mutable_spec();
    const auto line = text::read_cron_times(spec.cron().spec());
    if (!line) return failure(line.error().message, model::kNotSupported);
    if (spec.has_array() || spec.interactive() || entry.het_components_size() > 0)
      return failure("an entry of a crontab is one batch job", model::kNotSupported);
    spec.mutable_cron()->set_spec(text::format_cron_times(line->times));
    spec.set_begin_time(text::next_cron_time(line->times, core_.now()));
    if (spec.begin_time() == 0) return failure("an entry is never due", model::kInvalidTimeValue);
    spec.set_requeue(true);
    spec.clear_hold();
    entry.set_test_only(false);
    entry.set_immediate(false);
  }
  return entries;
}

void Crontabs::update(const api::UpdateCrontabRequest& request, const rpc::Peer& asker,
                      Submitting& submitting, Reply reply) {
  const auto owner = owner_of(request, asker);
  if (!owner) return reply(failure(owner.error()));
  auto entries = entries_of(request);
  if (!entries) return reply(failure(entries.error()));
  const Status paid = core_.rights->budgets().spend(owner->uid, config::Budget::kStoredBytes,
                                                    request.text().size(), core_.now());
  if (!paid) return reply(failure(paid.error()));
  CrontabRecord crontab;
  crontab.set_uid(owner->uid);
  crontab.set_text(request.text());
  std::vector<std::string> lines;
  for (const api::SubmitRequest& entry : *entries) lines.push_back(lines_of(entry.spec().cron()));
  submitting.submit_all(
      *entries, *owner,
      [this, crontab, lines, by_uid = asker.uid, reply = std::move(reply)](auto ids) mutable {
        api::ActionReply answer;
        if (!ids && ids.error().index >= lines.size()) return reply(failure(ids.error().error));
        if (!ids) {
          auto& refused = *answer.add_failures();
          refused.set_job(lines[ids.error().index]);
          refused.set_code(static_cast<uint32_t>(ids.error().error.code));
          refused.set_message(ids.error().error.message);
          return reply(answer);
        }
        const std::vector<uint32_t> before = jobs_of(crontabs_[crontab.uid()]);
        crontab.mutable_job_ids()->Assign(ids->begin(), ids->end());
        answer.set_changed(static_cast<uint32_t>(ids->size()));
        replace(std::move(crontab));
        cancel_waiting(before, by_uid);
        reply(answer);
      });
}

}  // namespace minke::engine
