#include "config/partition_fields.h"

#include <gtest/gtest.h>

#include "api/field.pb.h"
#include "config/configuration.h"
#include "model/cluster.pb.h"
#include "model/error.h"

namespace minke::config {
namespace {

constexpr uint32_t kUnlimited = 0xffffffff;

class PartitionFields : public ::testing::Test {
 protected:
  PartitionFields() : nodes_(3) {
    for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i].set_name("n" + std::to_string(i + 1));
  }
  Status set(const std::string& name, const std::string& value) {
    api::Field field;
    field.set_name(name);
    field.set_value(value);
    return apply_partition_field(partition_, field, nodes_);
  }
  // The error must have this code.
  std::string problem(const std::string& name, const std::string& value, int code) {
    const Status done = set(name, value);
    if (done) return "none";
    EXPECT_EQ(done.error().code, code) << name;
    return done.error().message;
  }

  std::vector<model::NodeRecord> nodes_;
  model::PartitionRecord partition_ = default_partition();
};

TEST_F(PartitionFields, AreSetInAnyCase) {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"state", "drain"},
           {"NODES", "n[1,3]"},
           {"MaxNodes", "2"},
           {"MinNodes", "1"},
           {"MaxTime", "1:00:00"},
           {"DefaultTime", "30"},
           {"MaxCPUsPerNode", "4"},
           {"ExclusiveUser", "yes"},
           {"QoS", "Short"},
           {"Default", "YES"},
           {"Hidden", "YES"},
           {"RootOnly", "YES"},
           {"DisableRootJobs", "YES"},
           {"ReqResv", "YES"},
           {"GraceTime", "120"},
           {"PreemptMode", "requeue"},
           {"OverSubscribe", "exclusive"},
           {"OverTimeLimit", "5"},
           {"AllowAccounts", "a,,b"},
           {"DenyAccounts", "c"},
           {"AllowQos", "q"},
           {"DenyQos", "r"},
           {"AllowGroups", "g"},
           {"TRESBillingWeights", "CPU=1.0,Mem=0.25G"}}) {
    EXPECT_TRUE(set(name, value)) << name;
  }
  EXPECT_EQ(partition_.state(), "DRAIN");
  EXPECT_EQ(partition_.nodes(), "n[1,3]");
  EXPECT_EQ(partition_.max_nodes(), 2u);
  EXPECT_EQ(partition_.min_nodes(), 1u);
  EXPECT_EQ(partition_.max_time_minutes(), 60u);
  EXPECT_EQ(partition_.default_time_minutes(), 30u);
  EXPECT_EQ(partition_.max_cpus_per_node(), 4u);
  EXPECT_EQ(partition_.qos(), "short");
  EXPECT_TRUE(partition_.exclusive_user() && partition_.is_default() && partition_.hidden());
  EXPECT_TRUE(partition_.root_only() && partition_.disable_root_jobs() && partition_.reservation_required());
  EXPECT_EQ(partition_.grace_time_seconds(), 120u);
  EXPECT_EQ(partition_.preempt_mode(), "REQUEUE");
  EXPECT_TRUE(partition_.exclusive());
  EXPECT_EQ(partition_.oversubscribe(), "EXCLUSIVE");
  EXPECT_EQ(partition_.over_time_limit_minutes(), 5u);
  EXPECT_EQ(partition_.allow_accounts_size(), 2);
  EXPECT_EQ(partition_.deny_accounts(0) + partition_.allow_qos(0) + partition_.deny_qos(0), "cqr");
  EXPECT_EQ(partition_.allow_groups(0), "g");
  EXPECT_EQ(partition_.billing_weights(), "CPU=1.0,Mem=0.25G");
}

TEST_F(PartitionFields, TakeBoundsBack) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"MaxNodes", "2"},
                                                                  {"MaxNodes", "UNLIMITED"},
                                                                  {"MaxTime", "0"},
                                                                  {"DefaultTime", "30"},
                                                                  {"DefaultTime", "NONE"},
                                                                  {"OverTimeLimit", "5"},
                                                                  {"OverTimeLimit", "NONE"},
                                                                  {"MaxCPUsPerNode", "4"},
                                                                  {"MaxCPUsPerNode", "INFINITE"},
                                                                  {"AllowAccounts", "a"},
                                                                  {"AllowAccounts", "ALL"},
                                                                  {"Nodes", "n2"},
                                                                  {"Nodes", "ALL"},
                                                                  {"TRESBillingWeights", ""}}) {
    EXPECT_TRUE(set(name, value)) << name;
  }
  EXPECT_EQ(partition_.max_nodes(), kUnlimited);
  EXPECT_EQ(partition_.max_time_minutes(), kUnlimited);
  EXPECT_EQ(partition_.default_time_minutes(), 0u);
  EXPECT_FALSE(partition_.has_over_time_limit_minutes());
  EXPECT_EQ(partition_.max_cpus_per_node(), 0u);
  EXPECT_EQ(partition_.allow_accounts_size(), 0);
  EXPECT_EQ(partition_.nodes(), "n[1-3]");
}

TEST_F(PartitionFields, PriorityIsTheOlderNameOfBoth) {
  EXPECT_TRUE(set("Priority", "7"));
  EXPECT_EQ(partition_.priority_tier(), 7u);
  EXPECT_EQ(partition_.priority_job_factor(), 7u);
  EXPECT_TRUE(set("PriorityTier", "8"));
  EXPECT_TRUE(set("PriorityJobFactor", "9"));
  EXPECT_EQ(partition_.priority_tier(), 8u);
  EXPECT_EQ(partition_.priority_job_factor(), 9u);
}

TEST_F(PartitionFields, OfMemoryPerCpuAndPerNodeTheLastOneCounts) {
  EXPECT_TRUE(set("DefMemPerCPU", "2G") && set("DefMemPerNode", "4G"));
  EXPECT_FALSE(partition_.has_default_mem_per_cpu_mib());
  EXPECT_EQ(partition_.default_mem_per_node_mib(), 4096u);
  EXPECT_TRUE(set("MaxMemPerNode", "8G") && set("MaxMemPerCPU", "1G"));
  EXPECT_FALSE(partition_.has_max_mem_per_node_mib());
  EXPECT_EQ(partition_.max_mem_per_cpu_mib(), 1024u);
  EXPECT_TRUE(set("DefMemPerNode", "0") && set("MaxMemPerNode", "UNLIMITED"));
  EXPECT_FALSE(partition_.has_default_mem_per_node_mib());
  EXPECT_FALSE(partition_.has_max_mem_per_cpu_mib());
}

TEST_F(PartitionFields, WhatComesWithAGpu) {
  EXPECT_TRUE(set("JobDefaults", "DefCpuPerGPU=16,defmempergpu=60000"));
  EXPECT_EQ(partition_.default_cpus_per_gpu(), 16u);
  EXPECT_EQ(partition_.default_mem_per_gpu_mib(), 60000u);
  EXPECT_TRUE(set("DefCpuPerGPU", "8") && set("DefMemPerGPU", "0"));
  EXPECT_EQ(partition_.default_cpus_per_gpu(), 8u);
  EXPECT_FALSE(partition_.has_default_mem_per_gpu_mib());
  EXPECT_TRUE(set("JobDefaults", ""));
  EXPECT_FALSE(partition_.has_default_cpus_per_gpu());
  for (const char* wrong : {"DefCpuPerGPU", "DefCpuPerGPU=x", "DefTime=5"})
    EXPECT_EQ(problem("JobDefaults", wrong, model::kInvalidTres).substr(0, 13), "Invalid input");
}

TEST_F(PartitionFields, AreRefusedWithAReason) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"State", "AWAY"},
                                                                  {"Hidden", "maybe"},
                                                                  {"MaxNodes", "many"},
                                                                  {"MaxTime", "x"},
                                                                  {"DefaultTime", "x"},
                                                                  {"MaxCPUsPerNode", "0"},
                                                                  {"GraceTime", "-1"},
                                                                  {"Priority", "65534"},
                                                                  {"DefMemPerCPU", "x"},
                                                                  {"MaxMemPerNode", "x"},
                                                                  {"OverTimeLimit", "x"},
                                                                  {"TRESBillingWeights", "x"}}) {
    EXPECT_EQ(problem(name, value, model::kInvalidTres), std::string("Invalid input ") + name + "=" + value);
  }
  EXPECT_EQ(problem("Nodes", "n9", model::kInvalidNodeName), "there is no node n9");
  EXPECT_EQ(problem("PreemptMode", "GANG", model::kInvalidTres),
            "PreemptMode=GANG: OFF, CANCEL, REQUEUE or SUSPEND");
  EXPECT_EQ(problem("Shared", "FORCE", model::kNotSupported),
            "OverSubscribe=FORCE: processors belong to one job; NO or EXCLUSIVE");
  EXPECT_EQ(problem("AllocNodes", "a", model::kNotSupported),
            "a partition's AllocNodes cannot be changed here");
}

}  // namespace
}  // namespace minke::config
