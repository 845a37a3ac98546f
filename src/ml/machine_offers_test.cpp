#include "ml/machine_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ml/cluster_profile.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"

namespace minke::ml {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

model::NodeRecord node(uint32_t cpus, uint64_t memory_gib, const std::string& type, uint32_t count) {
  model::NodeRecord made;
  made.set_cpus(cpus);
  made.set_memory_mib(memory_gib * 1024);
  model::Gres& gres = *made.add_gres();
  gres.set_name("gpu");
  gres.set_type(type);
  gres.set_count(count);
  return made;
}

TEST(MachineOffers, TypesTellTheirMemory) {
  EXPECT_EQ(memory_of_gpu_type("h100_3g.40gb"), 40);
  EXPECT_EQ(memory_of_gpu_type("nvidia_a100_1g.5gb"), 5);
  EXPECT_EQ(memory_of_gpu_type("a100"), 40);
  EXPECT_EQ(memory_of_gpu_type("h100"), 80);
  for (const char* other : {"", "rtx4090", ".gb", "x.0gb", "gb", "1gb"})
    EXPECT_FALSE(memory_of_gpu_type(other)) << other;
}

TEST(MachineOffers, AskForNoMoreThanIsThere) {
  MachineOffers here("lab");
  here.add(node(32, 256, "h100", 4));
  here.add(node(32, 256, "h100", 4));
  const auto one = place(here.offers(), {70 * kGib, kGib});
  ASSERT_TRUE(one);
  EXPECT_EQ(sbatch_lines(*one, "1:00:00"),
            (std::vector<std::string>{"#SBATCH --nodes=1", "#SBATCH --gpus-per-node=h100:1",
                                      "#SBATCH --ntasks-per-node=1", "#SBATCH --cpus-per-task=8",
                                      "#SBATCH --mem=64G", "#SBATCH --time=1:00:00"}));
  EXPECT_EQ(place(here.offers(), {500 * kGib, kGib})->nodes, 2u);
  EXPECT_FALSE(place(here.offers(), {700 * kGib, kGib}));  // a third node would do
}

TEST(MachineOffers, TheDriversFigureCounts) {
  MachineOffers here("n1");
  model::NodeRecord made = node(8, 30, "rtx4090", 1);
  model::GpuDevice& device = *made.add_gpu_devices();
  device.set_type("rtx4090");
  device.set_memory_mib(24564);
  here.add(made);
  EXPECT_TRUE(here.unknown().empty());
  EXPECT_TRUE(place(here.offers(), {20 * kGib, kGib}));
  EXPECT_FALSE(place(here.offers(), {24 * kGib, kGib}));
}

TEST(MachineOffers, WhatIsNotKnownIsSaid) {
  MachineOffers here("n1");
  here.add(node(8, 30, "rtx4090", 2));
  here.add(node(8, 60, "rtx4090", 2));
  EXPECT_THAT(here.unknown(), testing::ElementsAre("rtx4090"));
  EXPECT_TRUE(here.offers().gpus.empty());
  EXPECT_EQ(here.most_memory_mib(), 60u * 1024);
}

TEST(MachineOffers, TheSmallestComeFirst) {
  MachineOffers here("lab");
  here.add(node(64, 512, "h100", 4));
  here.add(node(64, 512, "h100_1g.10gb", 7));
  ASSERT_EQ(here.offers().gpus.size(), 2u);
  EXPECT_EQ(here.offers().gpus[0].specifier, "h100_1g.10gb");
  EXPECT_TRUE(here.offers().gpus[0].is_part);
  EXPECT_EQ(place(here.offers(), {5 * kGib, kGib})->offer->specifier, "h100_1g.10gb");
  EXPECT_EQ(place(here.offers(), {15 * kGib, kGib})->offer->specifier, "h100");
}

}  // namespace
}  // namespace minke::ml
