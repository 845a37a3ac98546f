// The fields that short lists read from a submission equal those of the whole spec.
#include <gtest/gtest.h>

#include "engine/embedded/state/job.h"
#include "model/job_spec.pb.h"

namespace minke::engine {
namespace {

TEST(Submission, BriefSpecSkipsTheRest) {
  const Submission none = make_submission(1, {}, "main");
  EXPECT_EQ(none.brief_spec().name, "");
  EXPECT_EQ(none.brief_spec().min_nodes, 0u);
  model::JobSpec spec;
  spec.set_name("n\xff");
  spec.set_account("a");
  spec.set_partition("p,q");
  spec.set_qos("high");
  spec.set_begin_time(int64_t{1} << 40);
  spec.set_min_nodes(2);
  spec.set_max_nodes(3);
  spec.set_ntasks(300);
  spec.set_cpus_per_task(4);
  spec.set_ntasks_per_node(5);
  spec.set_min_cpus(6);
  spec.set_exclusive(true);
  spec.set_overcommit(true);
  // Of every wire type, before, between and after.
  spec.set_comment(std::string(1000, 'c'));
  spec.set_work_dir("/w");
  spec.set_nice(-5);
  spec.set_time_limit_minutes(0xffffffff);
  spec.mutable_array()->add_ranges()->set_last(9);
  spec.add_gpus()->set_name("gpu");
  spec.set_mem_per_node_mib(uint64_t{1} << 50);
  const Submission made = make_submission(1, spec, "main");
  const BriefSpec brief = made.brief_spec();
  EXPECT_EQ(brief.name, "n\xff");
  EXPECT_EQ(brief.account, "a");
  EXPECT_EQ(brief.partition, "p,q");
  EXPECT_EQ(brief.qos, "high");
  EXPECT_EQ(brief.begin_time, int64_t{1} << 40);
  EXPECT_EQ(brief.min_nodes, 2u);
  EXPECT_EQ(brief.max_nodes, 3u);
  EXPECT_EQ(brief.ntasks, 300u);
  EXPECT_EQ(brief.cpus_per_task, 4u);
  EXPECT_EQ(brief.ntasks_per_node, 5u);
  EXPECT_EQ(brief.min_cpus, 6u);
  EXPECT_TRUE(brief.exclusive);
  EXPECT_TRUE(brief.overcommit);
}

// Older daemons stored what they did not know.
TEST(Submission, BriefSpecPassesOverWhatNobodyKnows) {
  model::JobSpec spec;
  spec.set_name("n");
  spec.set_min_nodes(2);
  const std::string unknown[] = {
      std::string("\x45"
                  "1234"),  // field 8, four bytes
      std::string("\x41"
                  "12345678"),    // eight bytes
      std::string("\x40\x07"),    // a number
      std::string("\x42\x02xx"),  // a text
      std::string("\x0d"
                  "1234"),           // the name, in four bytes
      std::string("\x08\x07"),       // the name, as a number
      std::string("\xf2\x01\x01x"),  // the nodes, as a text
      std::string("\x43\x44"),       // a group
  };
  for (const std::string& bytes : unknown) {
    model::JobSpec with = spec;
    ASSERT_TRUE(with.MergeFromString(bytes));
    const Submission made = make_submission(1, with, "main");
    EXPECT_EQ(made.brief_spec().name, "n");
    EXPECT_EQ(made.brief_spec().min_nodes, 2u);
  }
  for (size_t cut = 0; cut < spec.SerializeAsString().size(); ++cut) {
    Submission damaged = make_submission(1, spec, "main");
    damaged.spec_bytes.resize(cut);
    (void)damaged.brief_spec();
  }
}

}  // namespace
}  // namespace minke::engine
