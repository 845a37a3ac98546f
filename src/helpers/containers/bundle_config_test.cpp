#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "helpers/containers/bundle.h"

namespace minke::helpers {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json adapted(const json& config, const BundleTerms& terms) {
  const auto text = adapt_config(config.dump(), terms);
  return text ? json::parse(*text) : json(text.error().message);
}

BundleTerms terms_of_job() {
  BundleTerms terms;
  terms.bundle = "/b";
  terms.arguments = {"sleep", "5"};
  terms.environment = {"PATH=/job", "A=1", "SLURM_TMPDIR=/d"};
  terms.tmp_dir = "/d";
  return terms;
}

TEST(BundleConfig, TheProgramIsTheJobsAndTheBundlesVariablesHold) {
  const json config = {
      {"process", {{"args", {"x"}}, {"env", {"PATH=/of/bundle", "B=2"}}, {"terminal", true}}}};
  const json made = adapted(config, terms_of_job());
  EXPECT_EQ(made["process"]["args"], json({"sleep", "5"}));
  EXPECT_EQ(made["process"]["env"], json({"PATH=/of/bundle", "A=1", "SLURM_TMPDIR=/tmp", "B=2"}));
  EXPECT_EQ(made["process"]["terminal"], false);
  EXPECT_EQ(made["process"]["cwd"], "/");
  EXPECT_EQ(made["root"]["path"], "/b/rootfs");
}

TEST(BundleConfig, WhatOneUserCannotHaveIsTakenOut) {
  const json config = {
      {"hostname", "h"},
      {"process", {{"user", {{"uid", 1000}, {"gid", 5}, {"additionalGids", {7}}}}}},
      {"mounts",
       {{{"destination", "/sys"}, {"type", "sysfs"}, {"source", "sysfs"}},
        {{"destination", "/sys/fs/cgroup"}, {"type", "cgroup"}, {"source", "cgroup"}},
        {{"destination", "/dev/pts"},
         {"type", "devpts"},
         {"source", "devpts"},
         {"options", {"gid=5", "nosuid"}}},
        {{"destination", "/tmp"}, {"type", "tmpfs"}, {"source", "tmpfs"}}}},
      {"linux",
       {{"resources", json::object()},
        {"cgroupsPath", "x"},
        {"namespaces", {{{"type", "network"}, {"path", "/x"}}, {{"type", "pid"}}, {{"type", "user"}}}}}}};
  const json made = adapted(config, terms_of_job());
  EXPECT_FALSE(made.contains("hostname"));
  EXPECT_FALSE(made["linux"].contains("resources"));
  EXPECT_FALSE(made["linux"].contains("cgroupsPath"));
  EXPECT_EQ(made["linux"]["namespaces"], json({{{"type", "pid"}}, {{"type", "mount"}}, {{"type", "user"}}}));
  EXPECT_EQ(made["linux"]["uidMappings"][0], json({{"containerID", 1000}, {"hostID", 0}, {"size", 1}}));
  EXPECT_FALSE(made["process"]["user"].contains("additionalGids"));
  ASSERT_EQ(made["mounts"].size(), 3u);
  EXPECT_EQ(made["mounts"][0]["source"], "/sys");
  EXPECT_EQ(made["mounts"][1]["options"], json({"nosuid"}));
}

TEST(BundleConfig, AScriptIsShownToTheContainer) {
  BundleTerms terms = terms_of_job();
  terms.arguments = {"/spool/script", "a"};
  terms.script = true;
  const json made = adapted(json::object(), terms);
  EXPECT_EQ(made["process"]["args"], json({"/tmp/slurm/startup", "a"}));
  EXPECT_EQ(made["mounts"].back()["source"], "/spool/script");
}

TEST(BundleConfig, OddOnesAreNoDefect) {
  EXPECT_THAT(adapt_config("[]", terms_of_job()).error().message,
              HasSubstr("/b/config.json: it is no JSON object"));
  for (const char* odd :
       {R"({"process": 5, "mounts": {"a": 1}, "linux": []})",
        R"({"process": {"env": [1, null], "user": [], "rlimits": [{"hard": -1}]}, "mounts": [3]})",
        R"({"root": {"path": 7}, "linux": {"namespaces": [{"type": 4}, 5]}})"})
    EXPECT_TRUE(adapt_config(odd, terms_of_job())) << odd;
}

}  // namespace
}  // namespace minke::helpers
