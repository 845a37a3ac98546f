// What short lists read of a submission is what the whole of it says.
#include <gtest/gtest.h>

#include "engine/embedded/job.h"

namespace minke::engine {
namespace {

model::JobSpec brief_of(const model::JobSpec& spec) {
  model::JobSpec brief;
  make_submission(1, spec, "main").read_brief_spec(brief);
  return brief;
}

TEST(Submission, BriefSpecSkipsTheRest) {
  model::JobSpec spec;
  EXPECT_EQ(brief_of(spec).ByteSizeLong(), 0u);
  spec.set_name("n\xff");
  spec.set_account("a");
  spec.set_partition("p,q");
  spec.set_qos("high");
  spec.set_begin_time(int64_t{1} << 40);
  spec.set_min_nodes(2);
  spec.set_ntasks(300);
  spec.set_cpus_per_task(4);
  spec.set_ntasks_per_node(5);
  spec.set_min_cpus(6);
  const model::JobSpec wanted = spec;
  // Of every wire type, before, between and after.
  spec.set_comment(std::string(1000, 'c'));
  spec.set_work_dir("/w");
  spec.set_nice(-5);
  spec.set_time_limit_minutes(0xffffffff);
  spec.mutable_array()->add_ranges()->set_last(9);
  spec.add_gpus()->set_name("gpu");
  spec.set_mem_per_node_mib(uint64_t{1} << 50);
  EXPECT_EQ(brief_of(spec).SerializeAsString(), wanted.SerializeAsString());
}

}  // namespace
}  // namespace minke::engine
