// Answers about the machine as jobs use it now: their processes and the licenses that they hold.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "api/machine.pb.h"
#include "api/step_usage.pb.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/world.h"
#include "model/interactive_step.h"
#include "node/launcher.h"
#include "node/process_tree.h"
#include "rpc/messages.pb.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

std::optional<uint32_t> number_variable(pid_t pid, const char* name) {
  const auto value = node::initial_variable(pid, name);
  const auto number = value ? text::parse_unsigned(*value, 0xffffffff) : std::nullopt;
  if (!number) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

}  // namespace

void Queries::processes(const api::QueryPidsRequest& request, Viewer viewer, const Part& part) {
  const JobMatcher matcher(request.filter(), viewer);
  rpc::ServerMessage message;
  api::PidsReply& reply = *message.mutable_pids();
  const std::string prefix = node::launcher_home_id(core_.config.home) + "/";
  const std::vector<node::Process> all = node::read_all_processes();
  for (const node::Process& process : all) {
    const auto marker = node::initial_variable(process.pid, node::kLaunchMarker);
    if (!marker || !marker->starts_with(prefix)) continue;
    const auto id =
        text::parse_unsigned(marker->substr(prefix.size(), marker->find('.') - prefix.size()), 0xffffffff);
    const Job* job = id ? core_.state.find(static_cast<uint32_t>(*id)) : nullptr;
    if (job == nullptr || !job->holds_nodes() || !matcher.selected(*job)) continue;
    const auto step = number_variable(process.pid, "SLURM_STEP_ID");
    if (request.batch_only() ? step.has_value() : request.has_step_id() && step != request.step_id())
      continue;
    api::PidsReply::Process& found = *reply.add_processes();
    found.set_pid(static_cast<uint32_t>(process.pid));
    found.set_job_id(job->id);
    found.set_kind(!step ? STEP_BATCH : *step == kInteractiveStep ? STEP_INTERACTIVE : STEP_NORMAL);
    found.set_step_id(step.value_or(0));
    // A task leads its session. The processes that it started have its numbers in their environments too.
    if (process.session != process.pid) continue;
    found.set_local_id(number_variable(process.pid, "SLURM_LOCALID").value_or(0));
    found.set_global_id(number_variable(process.pid, "SLURM_PROCID").value_or(0));
  }
  part(message, true);
}

void Queries::licenses(const Part& part) {
  rpc::ServerMessage message;
  message.mutable_licenses()->set_now(core_.now());
  const sched::Machine& machine = core_.world->machine();
  for (size_t i = 0; i < machine.layout().licenses().size(); ++i) {
    const sched::LicensePool& pool = machine.layout().licenses()[i];
    api::License& license = *message.mutable_licenses()->add_licenses();
    license.set_name(pool.name);
    license.set_total(pool.count);
    const int64_t used = int64_t{pool.count} - machine.free_licenses(static_cast<sched::LicenseId>(i));
    license.set_used(static_cast<uint32_t>(std::max<int64_t>(0, used)));
  }
  part(message, true);
}

}  // namespace minke::engine
