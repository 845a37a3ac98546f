// Every worked example of the Alliance's pages on allocations.
#include "accounts/billing.h"

#include <gtest/gtest.h>

namespace minke::accounts {
namespace {

TEST(Billing, CoreEquivalents) {
  EXPECT_DOUBLE_EQ(core_equivalents(1, 8), 2);
  EXPECT_DOUBLE_EQ(core_equivalents(2, 4), 2);
  EXPECT_DOUBLE_EQ(core_equivalents(2, 10), 2.5);
}

TEST(Billing, RguEquivalentsOfTheFictiveMachine) {
  const clusters::Bundle fictive{3, 4};
  EXPECT_DOUBLE_EQ(rgu_equivalents(2 * 1.0, 3, 4, fictive), 2);
  EXPECT_NEAR(rgu_equivalents(1, 5, 5, fictive), 1.66, 0.01);
  EXPECT_DOUBLE_EQ(rgu_equivalents(1, 2, 6, fictive), 1.5);
  EXPECT_DOUBLE_EQ(rgu_equivalents(2.6, 7.8, 10.4, fictive), 2.6);
  EXPECT_DOUBLE_EQ(rgu_equivalents(4.0, 12, 16, fictive), 4);
}

TEST(Billing, RguEquivalentsOfRealClusters) {
  const auto charged = [](const char* cluster, const char* gpu, double cores, double memory) {
    return rgu_equivalents(rgu_of(gpu).value(), cores, memory, bundle_of(cluster).value());
  };
  EXPECT_NEAR(charged("narval", "a100", 12, 124), 4.0, 1e-9);
  EXPECT_NEAR(charged("narval", "a100", 1, 0.25), 4.0, 1e-9);
  EXPECT_NEAR(charged("narval", "a100", 16, 124), 5.33, 0.005);
  EXPECT_NEAR(charged("rorqual", "h100", 16, 248), 24.3, 0.05);
  EXPECT_NEAR(charged("nibi", "h100_1g.10gb", 2, 31), 1.74, 0.005);
  EXPECT_FALSE(bundle_of("graham"));
  EXPECT_FALSE(rgu_of("l40s"));
}

TEST(Billing, PublishedRgusFollowTheFormula) {
  for (const GpuModel& model : gpu_models())
    EXPECT_NEAR(rgu_by_formula(model), model.rgu, 0.06) << model.name;
  EXPECT_DOUBLE_EQ(rgu_by_formula(gpu_models()[0]), 12.176);
  EXPECT_NEAR(rgu_by_formula({"h200", 3.44, 3.17, 141.0 / 40, 0}), rgu_of("h200").value(), 0.05);
}

// Awards of RGU-years as so many GPUs of a model.
TEST(Billing, GpuEquivalents) {
  EXPECT_NEAR(2000 / rgu_of("h100").value(), 165, 0.5);
  EXPECT_NEAR(1500 / rgu_of("h100").value(), 123, 0.5);
  EXPECT_NEAR(1000 / rgu_of("h100").value(), 82, 0.5);
  EXPECT_DOUBLE_EQ(13 * rgu_of("a100").value(), 52);
}

TEST(Billing, MigFractions) {
  EXPECT_NEAR(mig_fraction(1, 5, 40) * 4.0, rgu_of("a100_1g.5gb").value(), 0.005);
  EXPECT_NEAR(mig_fraction(2, 10, 40) * 4.0, rgu_of("a100_2g.10gb").value(), 0.005);
  EXPECT_NEAR(mig_fraction(3, 20, 40) * 4.0, rgu_of("a100_3g.20gb").value(), 0.005);
  EXPECT_NEAR(mig_fraction(1, 10, 80) * 12.2, rgu_of("h100_1g.10gb").value(), 0.005);
  EXPECT_NEAR(mig_fraction(2, 20, 80) * 12.2, rgu_of("h100_2g.20gb").value(), 0.01);
  EXPECT_NEAR(mig_fraction(3, 40, 80) * 12.2, rgu_of("h100_3g.40gb").value(), 0.005);
}

// Each cluster's table of bundles: cores and memory that come with a GPU or an instance.
TEST(Billing, BundlesOfTheClusters) {
  const auto bundle = [](const char* cluster, const char* gpu, double cores, double memory) {
    const clusters::Bundle per_rgu = bundle_of(cluster).value();
    EXPECT_NEAR(rgu_of(gpu).value() * per_rgu.cores, cores, 0.06 + cores * 0.01) << cluster << gpu;
    EXPECT_NEAR(rgu_of(gpu).value() * per_rgu.memory_gb, memory, 0.06 + memory * 0.01) << cluster << gpu;
  };
  bundle("fir", "h100", 12, 288);
  bundle("fir", "h100_1g.10gb", 1.7, 41);
  bundle("fir", "h100_2g.20gb", 3.4, 82);
  bundle("fir", "h100_3g.40gb", 6, 144);
  bundle("narval", "a100", 12, 124.5);
  bundle("narval", "a100_1g.5gb", 1.7, 17.7);
  bundle("narval", "a100_2g.10gb", 3.4, 35.4);
  bundle("narval", "a100_3g.20gb", 6.0, 62.2);
  bundle("narval", "a100_4g.20gb", 6.9, 71.5);
  bundle("nibi", "h100", 14, 250);
  bundle("nibi", "h100_1g.10gb", 2, 35.7);
  bundle("nibi", "h100_2g.20gb", 4, 71.4);
  bundle("nibi", "h100_3g.40gb", 7, 125);
  bundle("rorqual", "h100", 16, 124.5);
  bundle("rorqual", "h100_1g.10gb", 2.3, 17.7);
  bundle("rorqual", "h100_2g.20gb", 4.5, 35.4);
  bundle("rorqual", "h100_3g.40gb", 8, 62.2);
  bundle("trillium", "h100", 24, 188);
}

}  // namespace
}  // namespace minke::accounts
