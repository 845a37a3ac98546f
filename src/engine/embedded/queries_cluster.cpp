// Answers about the cluster itself: nodes, partitions, licenses, configuration, diagnostics.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/diagnostics.pb.h"
#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "config/listing.h"
#include "engine/embedded/core.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/preemption.h"
#include "engine/embedded/queries.h"
#include "engine/embedded/reservations.h"
#include "node/discovery.h"
#include "rpc/messages.pb.h"
#include "text/hostlist.h"

namespace minke::engine {

using namespace model;

namespace {
void add_held(google::protobuf::RepeatedPtrField<GresAllocation>& list, const GresAllocation& held) {
  for (GresAllocation& known : list) {
    if (known.name() != held.name() || known.type() != held.type()) continue;
    known.mutable_indices()->MergeFrom(held.indices());
    return;
  }
  *list.Add() = held;
}
}  // namespace

void Queries::nodes(const Part& part) {
  rpc::ServerMessage message;
  api::NodesReply& reply = *message.mutable_nodes();
  reply.set_now(core_.now());
  NodeRecord load;
  node::refresh_load(load);
  for (const NodeRecord& configured : core_.nodes->nodes()) {
    NodeRecord& record = *reply.add_nodes();
    record = configured;
    record.set_cpu_load(load.cpu_load());
    record.set_free_memory_mib(load.free_memory_mib());
    if (const ReservationRecord* reservation = core_.reservations->holder_of(record.name())) {
      record.set_reservation(reservation->name());
      record.set_maintenance(has_flag(*reservation, "MAINT"));
    }
    for (const PartitionRecord& partition : core_.nodes->partitions()) {
      const auto names = text::expand_hostlist(partition.nodes());
      if (names && std::find(names->begin(), names->end(), record.name()) != names->end())
        record.add_partitions(partition.name());
    }
  }
  for (const auto& [id, job] : core_.state.jobs()) {
    if (!job->details) continue;
    for (const NodeAllocation& allocation : job->details->nodes) {
      for (NodeRecord& record : *reply.mutable_nodes()) {
        if (record.name() != allocation.node() || (job->ended() && !job->completing)) continue;
        // The processors of suspended jobs are others'. While jobs go on again, there may be too few.
        const bool suspended = job->state == JOB_SUSPENDED;
        if (!suspended)
          record.set_allocated_cpus(std::min(record.cpus(), record.allocated_cpus() + allocation.cpus()));
        record.set_allocated_memory_mib(record.allocated_memory_mib() + allocation.memory_mib());
        record.set_running_jobs(record.running_jobs() + (suspended ? 0 : 1));
        for (const GresAllocation& gres : allocation.gres()) {
          add_gres(*record.mutable_allocated_gres(), gres.name(), gres.type(),
                   static_cast<uint32_t>(gres.indices_size()));
          add_held(*record.mutable_held_gres(), gres);
        }
      }
    }
  }
  part(message, true);
}

void Queries::reservations(const Part& part) {
  rpc::ServerMessage message;
  message.mutable_reservations()->set_now(core_.now());
  for (const ReservationRecord& record : core_.reservations->all())
    *message.mutable_reservations()->add_reservations() = core_.reservations->shown_at(record, core_.now());
  part(message, true);
}

void Queries::partitions(const Part& part) {
  rpc::ServerMessage message;
  message.mutable_partitions()->set_now(core_.now());
  for (const PartitionRecord& configured : core_.nodes->partitions()) {
    PartitionRecord& record = *message.mutable_partitions()->add_partitions();
    record = configured;
    if (record.preempt_mode().empty() && core_.config.preemption.enabled())
      record.set_preempt_mode(config::preempt_mode_name(core_.config.preemption.mode));
    const auto names = text::expand_hostlist(record.nodes());
    for (const NodeRecord& node : core_.nodes->nodes()) {
      if (!names || std::find(names->begin(), names->end(), node.name()) == names->end()) continue;
      record.set_total_nodes(record.total_nodes() + 1);
      record.set_total_cpus(record.total_cpus() + node.cpus());
      record.set_total_memory_mib(record.total_memory_mib() + node.memory_mib());
      for (const Gres& gres : node.gres()) {
        add_gres(*record.mutable_total_gres(), gres.name(), gres.type(), gres.count());
      }
    }
  }
  part(message, true);
}

void Queries::diagnostics(const api::QueryDiagnosticsRequest& request, Viewer viewer, size_t connections,
                          const Part& part) {
  rpc::ServerMessage message;
  api::DiagnosticsReply& reply = *message.mutable_diagnostics();
  core_.diagnostics.write(reply, [this](uint32_t uid) { return core_.state.user_name(uid); });
  // Who asks how often tells who has jobs.
  for (int i = reply.by_user_size(); i-- > 0;)
    if (!viewer.sees(reply.by_user(i).id())) reply.mutable_by_user()->DeleteSubrange(i, 1);
  reply.set_connections(static_cast<uint32_t>(connections));
  for (const auto& [id, job] : core_.state.jobs()) {
    if (job->state == JOB_RUNNING) reply.set_jobs_running(reply.jobs_running() + 1);
    if (job->state != JOB_PENDING) continue;
    reply.set_jobs_pending(reply.jobs_pending() + (job->array ? job->array->waiting.size() : 1));
  }
  if (request.reset()) core_.diagnostics.reset();
  part(message, true);
}

void Queries::configuration(const Part& part) {
  rpc::ServerMessage message;
  api::ConfigReply& reply = *message.mutable_config();
  reply.set_now(core_.now());
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const uint32_t uid = ::geteuid();
  for (auto& [name, value] : config::list_configuration({.config = core_.config,
                             .started = core_.started,
                             .next_job_id = core_.state.next_job_id(),
                             .host = host,
                             .user = core_.state.user_name(uid),
                             .uid = uid})) {
    api::Field& field = *reply.add_values();
    field.set_name(name);
    field.set_value(std::move(value));
  }
  part(message, true);
}

}  // namespace minke::engine
