// How long squeue takes for 100 k pending jobs once it has the daemon's bytes: decoding, sorting, printing.
#include <benchmark/benchmark.h>

#include "api/jobs.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "view/squeue.h"
#include "view/test_records.h"

namespace minke::view {
namespace {

constexpr uint32_t kJobs = 100000;
constexpr int kJobsPerReply = 500;

std::vector<std::string> serialized_queue() {
  std::vector<std::string> parts;
  api::JobsReply reply;
  for (uint32_t id = 1; id <= kJobs; ++id) {
    model::JobRecord job = test::job(id, "train_resnet50", model::JOB_PENDING, model::WAIT_PRIORITY);
    job.set_priority(UINT32_MAX - id * 7919 % kJobs);
    job.set_submit_time(test::kMidnight);
    job.set_eligible_time(test::kMidnight);
    job.mutable_spec()->set_submit_line("sbatch --time=1:00:00 --mem=4G train.sh");
    job.mutable_spec()->set_command("/home/user/project/train.sh");
    *reply.add_jobs() = std::move(job);
    if (reply.jobs_size() == kJobsPerReply) {
      parts.push_back(reply.SerializeAsString());
      reply.Clear();
    }
  }
  return parts;
}

void list_queue(benchmark::State& state, const SqueueOptions& options) {
  static const std::vector<std::string> parts = serialized_queue();
  DisplayContext context = test::context_at(1, 0, 0);
  for (auto unused : state) {
    (void)unused;
    std::vector<api::JobsReply> replies(parts.size());
    std::vector<const model::JobRecord*> jobs;
    for (size_t i = 0; i < parts.size(); ++i) {
      replies[i].ParseFromString(parts[i]);
      for (const model::JobRecord& job : replies[i].jobs()) jobs.push_back(&job);
    }
    std::vector<std::string> problems;
    Table<JobLine> table = job_table(options, problems);
    auto lines = job_lines(jobs, options, context);
    std::string out;
    for (const JobLine& line : *lines) table.append_line(line, context, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * kJobs);
}

void default_format(benchmark::State& state) {
  list_queue(state, {});
}
BENCHMARK(default_format)->Unit(benchmark::kMillisecond);

void all_fields(benchmark::State& state) {
  SqueueOptions options;
  options.format = "%all";
  list_queue(state, options);
}
BENCHMARK(all_fields)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace minke::view
