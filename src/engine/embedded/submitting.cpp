#include "engine/embedded/submitting.h"

#include <algorithm>
#include <utility>

#include "engine/embedded/core.h"
#include "engine/embedded/dependencies.h"
#include "engine/embedded/lifecycle.h"
#include "engine/embedded/nodes.h"
#include "engine/embedded/scheduling.h"
#include "engine/embedded/users.h"
#include "model/error.h"
#include "text/hostlist.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr size_t kKeyBytes = 16;
constexpr size_t kMaxScriptBytes = size_t{4} << 20;

// A request that does not speak of memory has its partition's default from now on, whatever that becomes.
void take_default_memory(JobSpec& spec, const PartitionRecord& partition) {
  if (spec.has_mem_per_cpu_mib() || spec.has_mem_per_node_mib() || spec.has_mem_per_gpu_mib()) return;
  if (partition.has_default_mem_per_cpu_mib()) {
    spec.set_mem_per_cpu_mib(partition.default_mem_per_cpu_mib());
  } else if (partition.has_default_mem_per_node_mib()) {
    spec.set_mem_per_node_mib(partition.default_mem_per_node_mib());
  }
}

}  // namespace

Result<JobSpec> Submitting::complete_spec(const JobSpec& given) const {
  JobSpec spec = given;
  if (spec.name().empty()) spec.set_name(spec.interactive() ? "interactive" : "sbatch");
  if (spec.work_dir().empty() || spec.work_dir().front() != '/') {
    return failure("the working directory must be an absolute path", kPathnameTooLong);
  }
  return spec;
}

Status Submitting::check(const rpc::SubmitRequest& request, JobSpec& spec) const {
  if (request.key().size() != kKeyBytes) return failure("a submission's key has 16 bytes", kInternal);
  if (request.script().empty() != spec.interactive()) return failure("", kJobScriptMissing);
  if (request.script().size() > kMaxScriptBytes) return failure("the script is over 4 MiB", kPathnameTooLong);
  if (spec.begin_time() != 0 && spec.deadline() != 0 && spec.deadline() < spec.begin_time()) {
    return failure("the deadline is before the begin time", kInvalidTimeValue);
  }
  if (spec.deadline() != 0 && spec.deadline() <= core_.now())
    return failure("the deadline has passed", kInvalidTimeValue);
  if (!spec.licenses().empty()) return failure("no licenses are configured", kInvalidLicenses);
  if (!spec.reservation().empty())
    return failure("there is no reservation " + spec.reservation(), kReservationInvalid);
  if (spec.has_array() && spec.array().ranges_size() > 0) {
    for (const IndexRange& range : spec.array().ranges()) {
      if (range.last() < range.first() || range.last() >= core_.config.max_array_size) {
        return failure(
            "array indices must be below MaxArraySize=" + std::to_string(core_.config.max_array_size),
            kInvalidArray);
      }
    }
  }
  std::string partitions;
  if (const Status possible = core_.scheduling->check(spec, partitions); !possible) return possible;
  spec.set_partition(partitions);
  if (const auto* first = core_.nodes->find_partition(partitions.substr(0, partitions.find(','))))
    take_default_memory(spec, *first);
  return core_.dependencies->check(spec);
}

Result<rpc::SubmitReply> Submitting::test(const JobSpec& spec) const {
  rpc::SubmitReply reply;
  const auto expected = core_.scheduling->forecast_submission(spec);
  reply.set_job_id(core_.state.next_job_id());
  if (!expected) return failure("no node that could run it is available", kNodesBusy);
  reply.set_start_time(expected->start);
  const auto nodes = sched::to_model(core_.scheduling->machine().layout(), expected->placement);
  std::vector<std::string> names;
  uint32_t cpus = 0;
  for (const NodeAllocation& node : nodes) {
    names.push_back(node.node());
    cpus += node.cpus();
  }
  reply.set_num_cpus(cpus);
  reply.set_node_list(text::compress_hostlist_sorted(names));
  reply.set_partition(spec.partition().substr(0, spec.partition().find(',')));
  return reply;
}

void Submitting::submit(const rpc::SubmitRequest& request, const rpc::Peer& peer, Reply reply) {
  rpc::SubmitReply answer;
  if (const auto waiting = in_flight_.find(request.key()); waiting != in_flight_.end()) {
    waiting->second.push_back(std::move(reply));
    return;
  }
  auto spec = complete_spec(request.spec());
  if (!spec) return reply(failure(spec.error()));
  // Sent again because the answer was lost: the first one counts, whatever has become of it since.
  const auto known = core_.store.submission(request.key());
  if (!known) return reply(failure(known.error()));
  if (*known) {
    answer.set_job_id(**known);
    return reply(answer);
  }
  if (const Status possible = check(request, *spec); !possible) return reply(failure(possible.error()));
  if (request.test_only()) return reply(test(*spec));
  if (request.immediate()) {
    const auto expected = core_.scheduling->forecast_submission(*spec);
    if (!expected || expected->start > core_.now()) return reply(failure("", kCannotStartImmediately));
  }
  const uint64_t tasks = spec->has_array() ? TaskSet(spec->array()).size() : 1;
  if (tasks > core_.config.max_job_count || core_.state.jobs().size() + tasks > core_.config.max_job_count) {
    return reply(failure("MaxJobCount=" + std::to_string(core_.config.max_job_count) + " would be exceeded",
                         kAccountingPolicy));
  }

  const uint32_t id = core_.state.take_job_id();
  Submission submission = make_submission(id, *spec, core_.nodes->default_partition().name());
  store::Batch batch;
  if (!request.script().empty()) {
    const store::ContentHash hash = store::hash_content(request.script());
    submission.script = core_.state.intern(hash);
    batch.contents.emplace_back(hash, request.script());
  }
  const store::ContentHash hash = store::hash_content(request.environment());
  submission.environment = core_.state.intern(hash);
  batch.contents.emplace_back(hash, request.environment());

  auto made = std::make_unique<Job>();
  made->id = id;
  made->uid = peer.uid;
  made->gid = peer.gid;
  made->submit_time = core_.now();
  made->eligible_time = std::max(made->submit_time, spec->begin_time());
  made->priority = initial_priority(*spec, id);
  made->requeue_allowed = spec->has_requeue() ? spec->requeue() : core_.config.requeue_by_default;
  made->submission = std::make_shared<const Submission>(std::move(submission));
  made->time_limit_minutes = core_.scheduling->time_limit_of(*spec);
  if (spec->interactive()) made->need_details().owner = owner_of_process(peer.pid);
  if (spec->has_array() && spec->array().ranges_size() > 0) {
    made->array_job_id = id;
    made->array = std::make_unique<ArrayTasks>();
    made->array->waiting = TaskSet(spec->array());
    made->array->max_running = spec->array().max_running();
  }
  if (made->priority == 0) made->reason = WAIT_HELD_USER;
  Job& job = core_.state.add(std::move(made));
  batch.jobs.push_back(core_.state.row_of(job));
  batch.specs.push_back({id, *spec});
  batch.submissions.emplace_back(request.key(), id);
  in_flight_[request.key()].push_back(std::move(reply));
  core_.committer.submit(std::move(batch), [this, id, key = request.key()](Status outcome) {
    committed(id, key, std::move(outcome));
  });
}

void Submitting::committed(uint32_t job_id, const std::string& key, Status outcome) {
  const auto replies = std::move(in_flight_.extract(key).mapped());
  Job* job = core_.state.find(job_id);
  MINKE_CHECK(job != nullptr);
  if (!outcome) {
    core_.state.remove(job_id);
    for (const Reply& reply : replies) reply(failure(outcome.error().message, kWritingToFile));
    return;
  }
  job->committed = true;
  core_.dependencies->watch(*job);
  core_.lifecycle->set_alarm(*job);
  core_.scheduling->update(*job);
  if (core_.dependencies->never(*job) && job->submission->kill_on_invalid_dependency) {
    core_.lifecycle->cancel(*job, job->uid);
  }
  if (job->submission->interactive) core_.lifecycle->watch_owner(*job);
  rpc::SubmitReply answer;
  answer.set_job_id(job_id);
  for (const Reply& reply : replies) reply(answer);
}

}  // namespace minke::engine
