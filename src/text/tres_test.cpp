#include "text/tres.h"

#include <gtest/gtest.h>

#include "model/job_record.pb.h"

namespace minke::text {
namespace {

std::string gres(std::string_view text) {
  auto list = parse_gres_list(text);
  return list ? format_gres_list(*list) : list.error().message;
}
std::string gpus(std::string_view text) {
  auto list = parse_gpu_list(text);
  return list ? format_gres_list(*list) : list.error().message;
}

TEST(Tres, GresLists) {
  EXPECT_EQ(gres("gpu"), "gpu:1");
  EXPECT_EQ(gres("gpu:2"), "gpu:2");
  EXPECT_EQ(gres("gpu:a100"), "gpu:a100:1");
  EXPECT_EQ(gres("gpu:a100:2"), "gpu:a100:2");
  EXPECT_EQ(gres("gres:gpu:2"), "gpu:2");
  EXPECT_EQ(gres("gres/gpu:a100=2"), "gpu:a100:2");
  EXPECT_EQ(gres("gres/gpu=2"), "gpu:2");
  EXPECT_EQ(gres("gpu:a100:2,gpu:v100:1,shard:4"), "gpu:a100:2,gpu:v100:1,shard:4");
  EXPECT_EQ(gres("gpu:1,gpu:2"), "gpu:2");  // the last counts
  EXPECT_EQ(gres("gpu:3090:1"), "gpu:3090:1");
  EXPECT_EQ(gres("craynetwork:2k"), "craynetwork:2048");
  EXPECT_EQ(gres("gpu:1g.10gb:2"), "gpu:1g.10gb:2");
  EXPECT_EQ(gres("gpu:0"), "");
  EXPECT_EQ(gres("none"), "");
  EXPECT_EQ(gres("NONE"), "");
  EXPECT_EQ(gres(""), "");
  for (const char* text : {"gpu:", ":2", "gpu:a100:", "gpu:a100:x", "gpu:-1", "gpu,", "gpu:a:b:c:2",
                           "gpu:4294967296", "gres", "g pu:1", "gpu::2", "gres:"}) {
    EXPECT_EQ(gres(text), "Invalid generic resource (gres) specification") << text;
  }
}

TEST(Tres, GpuLists) {
  EXPECT_EQ(gpus("2"), "gpu:2");
  EXPECT_EQ(gpus("a100:2"), "gpu:a100:2");
  EXPECT_EQ(gpus("a100"), "gpu:a100:1");
  EXPECT_EQ(gpus("a100:1,v100:2"), "gpu:a100:1,gpu:v100:2");
  EXPECT_EQ(gpus("gpu:3"), "gpu:gpu:3");  // a type of that name
  EXPECT_EQ(gpus("0"), "");
  for (const char* text : {"", ",", "a100:", "-1", "a100:-1", "a100:2:3:x"}) {
    EXPECT_EQ(gpus(text), "Invalid generic resource (gres) specification") << text;
  }
}

TEST(Tres, Allocations) {
  model::GresAllocation allocation;
  allocation.set_name("gpu");
  allocation.set_type("a100");
  for (uint32_t index : {3, 0, 1}) allocation.add_indices(index);
  EXPECT_EQ(format_gres_allocation(std::vector{allocation}), "gpu:a100:3(IDX:0-1,3)");
  EXPECT_EQ(format_gres_allocation({}), "");
  model::GresAllocation counted;
  counted.set_name("nic");
  counted.add_indices(0);
  counted.add_indices(2);
  EXPECT_EQ(format_gres_allocation(std::span(&counted, 1)), "nic(CNT:2)");
  EXPECT_EQ(format_tres_per(*parse_gres_list("gpu:a100:2,shard")), "gres:gpu:a100:2,gres:shard:1");
  EXPECT_EQ(format_indices({}), "");
}

TEST(Tres, Amounts) {
  TresAmounts amounts;
  amounts.cpus = 4;
  amounts.memory_mib = 16384;
  amounts.nodes = 1;
  amounts.billing = 4;
  EXPECT_EQ(format_tres(amounts, TresOrder::kById), "cpu=4,mem=16G,node=1,billing=4");
  EXPECT_EQ(format_tres(amounts, TresOrder::kByName), "billing=4,cpu=4,mem=16G,node=1");
  amounts.gres = *parse_gres_list("gpu:a100:2,gpu:v100:1");
  EXPECT_EQ(format_tres(amounts, TresOrder::kById),
            "cpu=4,mem=16G,node=1,billing=4,gres/gpu=3,gres/gpu:a100=2,gres/gpu:v100=1");
  EXPECT_EQ(format_tres(amounts, TresOrder::kByName),
            "billing=4,cpu=4,gres/gpu:a100=2,gres/gpu:v100=1,gres/gpu=3,mem=16G,node=1");
  EXPECT_EQ(format_tres({}, TresOrder::kById), "");
}

TEST(Tres, ReadsWhatSlurmPrints) {
  const TresAmounts amounts =
      parse_tres("cpu=4,mem=1.50G,node=2,billing=6,gres/gpu=3,gres/gpu:a100=2,license/matlab=1,energy=0");
  EXPECT_EQ(amounts.cpus, 4u);
  EXPECT_EQ(amounts.memory_mib, 1536u);
  EXPECT_EQ(amounts.nodes, 2u);
  EXPECT_EQ(amounts.billing, 6u);
  ASSERT_EQ(amounts.gres.size(), 2u);
  EXPECT_EQ(amounts.gres[0].type(), "a100");
  EXPECT_EQ(amounts.gres[0].count(), 2u);
  EXPECT_EQ(amounts.gres[1].type(), "");
  EXPECT_EQ(amounts.gres[1].count(), 1u);
  EXPECT_EQ(parse_tres("mem=4000M").memory_mib, 4000u);
  EXPECT_EQ(parse_tres("mem=512K").memory_mib, 1u);
  EXPECT_EQ(parse_tres("mem=nan,cpu=-1,=,mem").cpus, 0u);
  EXPECT_FALSE(parse_tres("").billing);
}

TEST(Gres, NodesOfferThousandsInUnits) {
  const auto offered = parse_gres_list("bandwidth:lustre:no_consume:4k,io:10240,odd:1025,m:2m");
  ASSERT_TRUE(offered);
  EXPECT_EQ(format_gres_offer(*offered), "bandwidth:lustre:no_consume:4K,io:10K,odd:1025,m:2M");
  EXPECT_FALSE(parse_gres_list("a:b:c:4"));
}

TEST(Tres, ListsLeaveOutWhatIsNotTracked) {
  TresAmounts amounts;
  amounts.cpus = 2;
  amounts.gres = *parse_gres_list("nic:2,io:3");
  amounts.gres[1].set_untracked(true);
  amounts.licenses = *parse_gres_list("x:4");
  EXPECT_EQ(format_tres(amounts, TresOrder::kById), "cpu=2,gres/nic=2,license/x=4");
  EXPECT_EQ(parse_tres("cpu=2,gres/nic=2,license/x=4").licenses[0].count(), 4u);
}

}  // namespace
}  // namespace minke::text
