#include "config/changed_fields.h"

#include <gtest/gtest.h>

namespace minke::config {
namespace {

TEST(ChangedFields, WhatTheFileDidNotChangeStaysAsItStands) {
  model::PartitionRecord before;
  before.set_name("p");
  before.set_max_time_minutes(10);
  before.add_allow_accounts("a");
  before.set_default_mem_per_cpu_mib(0);
  model::PartitionRecord now = before, present = before;
  present.add_allow_accounts("b");
  present.set_hidden(true);
  EXPECT_EQ(with_changes(before, now, present).SerializeAsString(), present.SerializeAsString());

  now.set_max_time_minutes(20);
  now.clear_default_mem_per_cpu_mib();
  now.add_deny_qos("q");
  const model::PartitionRecord merged = with_changes(before, now, present);
  EXPECT_EQ(merged.name(), "p");
  EXPECT_EQ(merged.max_time_minutes(), 20u);
  EXPECT_FALSE(merged.has_default_mem_per_cpu_mib());
  EXPECT_EQ(merged.deny_qos(0), "q");
  EXPECT_EQ(merged.allow_accounts_size(), 2);
  EXPECT_TRUE(merged.hidden());
}

TEST(ChangedFields, WhatTheFileChangedCounts) {
  model::PartitionRecord before, now, present;
  before.set_offline(true);
  before.add_allow_accounts("a");
  present = before;
  present.add_allow_accounts("b");
  now.add_allow_accounts("c");
  const model::PartitionRecord merged = with_changes(before, now, present);
  ASSERT_EQ(merged.allow_accounts_size(), 1);
  EXPECT_EQ(merged.allow_accounts(0), "c");
  EXPECT_FALSE(merged.offline());
}

}  // namespace
}  // namespace minke::config
