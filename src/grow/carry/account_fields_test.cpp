#include "grow/carry/account_fields.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/accounts.pb.h"

namespace minke::grow {
namespace {

std::string value_of(std::span<const AccountField> fields, const std::vector<std::string>& values,
                     std::string_view column) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].column == column) return values.at(i);
  }
  return "no such column";
}
const AccountField& field_of(std::span<const AccountField> fields, std::string_view column) {
  return *std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.column == column; });
}

TEST(AccountFields, AnAssociationIsToldInTheWordsOfSacctmgr) {
  model::AssociationRecord record;
  record.set_shares(0x7fffffff);
  record.mutable_limits()->set_max_wall(2880);
  model::Tres& memory = *record.mutable_limits()->add_grp_tres();
  memory.set_name("mem");
  memory.set_count(2048);
  model::Tres& cpus = *record.mutable_limits()->add_grp_tres();
  cpus.set_name("cpu");
  cpus.set_count(8);
  record.add_qos("normal");
  record.add_qos("high");
  const auto values = wanted_fields(record);
  ASSERT_EQ(values.size(), association_fields().size());
  EXPECT_EQ(value_of(association_fields(), values, "Share"), "parent");
  EXPECT_EQ(value_of(association_fields(), values, "MaxWall"), "2-00:00:00");
  EXPECT_EQ(value_of(association_fields(), values, "GrpTRES"), "cpu=8,mem=2G");
  EXPECT_EQ(value_of(association_fields(), values, "QOS"), "high,normal");
  EXPECT_EQ(value_of(association_fields(), values, "MaxJobs"), "");
}

TEST(AccountFields, AQosHasAsManyValuesAsFields) {
  model::QosRecord record;
  record.set_priority(100);
  record.set_grace_seconds(90);
  record.set_usage_factor(1.5);
  record.mutable_limits()->set_min_priority(5);
  const auto values = wanted_fields(record);
  ASSERT_EQ(values.size(), qos_fields().size());
  EXPECT_EQ(value_of(qos_fields(), values, "Priority"), "100");
  EXPECT_EQ(value_of(qos_fields(), values, "GraceTime"), "00:01:30");
  EXPECT_EQ(value_of(qos_fields(), values, "UsageFactor"), "1.500000");
  EXPECT_EQ(value_of(qos_fields(), values, "MinPrioThres"), "5");
}

TEST(AccountFields, WhatNobodyHasSetIsEmpty) {
  const auto& fields = qos_fields();
  EXPECT_EQ(plain_value(field_of(fields, "PreemptMode"), "cluster"), "");
  EXPECT_EQ(plain_value(field_of(fields, "GraceTime"), "00:00:00"), "");
  EXPECT_EQ(plain_value(field_of(fields, "UsageFactor"), "1.000000"), "");
  EXPECT_EQ(plain_value(field_of(fields, "Flags"), "NoDecay,DenyOnLimit"), "DenyOnLimit,NoDecay");
}

TEST(AccountFields, ASettingMakesOneValueOfTheOther) {
  const auto& fields = association_fields();
  EXPECT_EQ(setting_of(field_of(fields, "MaxJobs"), "", "4"), "MaxJobs=4");
  EXPECT_EQ(setting_of(field_of(fields, "MaxJobs"), "4", ""), "MaxJobs=-1");
  EXPECT_EQ(setting_of(field_of(fields, "GrpTRES"), "cpu=4,gres/gpu=2", "cpu=8"),
            "GrpTRES=cpu=8,gres/gpu=-1");
  EXPECT_EQ(setting_of(field_of(qos_fields(), "GraceTime"), "", "00:01:30"), "GraceTime=90");
}

}  // namespace
}  // namespace minke::grow
