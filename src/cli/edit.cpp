#include "cli/edit.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "cli/complain.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "os/editor.h"
#include "text/job_id.h"
#include "view/job_settings.h"
#include "view/text.h"

namespace minke::cli {
namespace {

constexpr size_t kMostBytes = 1 << 20;

// The message of a failure, with the setting that it is about.
std::string refusal(const api::ActionReply::Failure& failed) {
  return failed.message().empty() ? std::string(model::slurm_error_text(static_cast<int>(failed.code())))
                                  : failed.message();
}

}  // namespace

int edit_job(const std::string& job) {
  const auto wanted = text::parse_job_id(job);
  if (!wanted)
    return complain(Error{0, "\"" + job + "\" is no job id: write 12, or 12_3 for a task of an array"});
  const auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  api::JobFilter filter;
  *filter.add_jobs() = engine::selector_of(*wanted);
  const auto found = engine::fetch_jobs(**cluster, filter);
  if (!found && found.error().code != model::kInvalidJobId) return complain(found.error());
  if (!found || found->records.empty())
    return complain(
        Error{0, "no job " + job + " waits or runs; minke redo " + job + " submits an ended one again"});
  const model::JobRecord& record = *found->records.front();
  if (record.state() != model::JOB_PENDING)
    return complain(Error{0, "job " + job + " does not wait any more: it is " +
                                 std::string(view::state_text(record)) + "; scontrol update jobid=" + job +
                                 " timelimit=… changes what can still be changed"});
  view::DisplayContext context;
  context.now = found->now;
  const view::JobSettings before = view::job_settings(record, context);
  const auto text = os::edit_text(view::settings_text(record, before), "minke-job", kMostBytes);
  if (!text) return complain(text.error());
  const auto changed = view::changed_settings(before, *text);
  if (!changed) return complain(changed.error());
  if (changed->empty()) {
    std::printf("nothing was changed\n");
    return 0;
  }
  api::UpdateJobRequest update;
  *update.mutable_job() = engine::selector_of(*wanted);
  for (const auto& [name, value] : *changed) {
    api::Field& field = *update.add_fields();
    field.set_name(name);
    field.set_value(value);
  }
  const auto answer = (*cluster)->update(update);
  if (!answer) return complain(Error{answer.error().code, "nothing was changed: " + answer.error().message});
  if (answer->failures_size() > 0)
    return complain(Error{0, "nothing was changed: " + refusal(answer->failures(0))});
  for (const auto& [name, value] : *changed) std::printf("%s=%s\n", name.c_str(), value.c_str());
  return 0;
}

}  // namespace minke::cli
