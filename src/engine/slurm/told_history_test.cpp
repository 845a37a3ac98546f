#include "engine/slurm/told_history.h"

#include <gtest/gtest.h>

#include "api/history.pb.h"

namespace minke::engine::slurm {
namespace {

TEST(ToldHistory, HasEventsOfNodes) {
  api::HistoryReply reply;
  add_events({"|1795896859|Unknown|||billing=36|Cluster Registered TRES",
              "n2|1795899680|1795899683|DRAIN|root(0)|billing=4,cpu=4|fan | x",
              "n3|1795899683|Unknown|DOWN|slurm(64030)|cpu=4|", "n4|yesterday|Unknown|DOWN|root(0)|cpu=4|x",
              "broken"},
             reply);
  ASSERT_EQ(reply.node_events_size(), 2);
  const model::NodeEvent& over = reply.node_events(0);
  EXPECT_EQ(over.node() + " " + over.state() + " " + over.reason(), "n2 DRAIN fan | x");
  EXPECT_EQ(over.start(), 1795899680);
  EXPECT_EQ(over.end(), 1795899683);
  EXPECT_EQ(over.tres(), "billing=4,cpu=4");
  EXPECT_EQ(reply.node_events(1).end(), 0);
  EXPECT_EQ(reply.node_events(1).uid(), 64030u);
}

TEST(ToldHistory, HasChangesOfAccounts) {
  api::HistoryReply reply;
  add_transactions({"1795896859|Modify Associations|root|(id_assoc=6)|max_wall_pj=1440",
                    "1795896860|Add Users|ada|bob|a|b", "x|Add Users|ada|bob|", "broken"},
                   reply);
  ASSERT_EQ(reply.transactions_size(), 2);
  EXPECT_EQ(reply.transactions(0).where(), "(id_assoc=6)");
  EXPECT_EQ(reply.transactions(0).time(), 1795896859);
  EXPECT_EQ(reply.transactions(1).actor(), "ada");
  EXPECT_EQ(reply.transactions(1).info(), "a|b");
  EXPECT_NE(reply.transactions(0).id(), reply.transactions(1).id());
}

}  // namespace
}  // namespace minke::engine::slurm
