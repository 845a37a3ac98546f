// Events of nodes and changes of accounts: when they begin and end, who sees them, and what a restart leaves.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/accounts.pb.h"
#include "api/history.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/simulation/request_test.h"

namespace minke::engine::simulation {
namespace {

class PastEventsTest : public RequestTest {
 protected:
  void update_node(const std::vector<std::pair<std::string, std::string>>& fields) {
    rpc::RequestEnvelope message;
    auto& update = message.body<api::UpdateNodeRequest>();
    update.set_node_list("n1");
    for (const auto& [name, value] : fields) {
      auto& field = *update.add_fields();
      field.set_name(name);
      field.set_value(value);
    }
    EXPECT_EQ(outcome(kRoot, message), 0u) << what_was_said();
  }
  api::HistoryReply past(const std::string& nodes = "") {
    rpc::RequestEnvelope message;
    auto& query = message.body<api::QueryHistoryRequest>();
    query.set_node_events(true);
    query.set_transactions(true);
    query.set_node_list(nodes);
    return ask(kBob, message).read<api::HistoryReply>();
  }
};

TEST_F(PastEventsTest, AnEventLastsAsLongAsTheState) {
  EXPECT_EQ(past().node_events_size(), 0);
  update_node({{"State", "DRAIN"}, {"Reason", "first"}});
  update_node({{"Reason", "second"}});
  ASSERT_EQ(past().node_events_size(), 1);
  EXPECT_EQ(past().node_events(0).state(), "DRAIN");
  EXPECT_EQ(past().node_events(0).reason(), "first");
  EXPECT_EQ(past().node_events(0).end(), 0);
  EXPECT_EQ(past("n2").node_events_size(), 0);
  restart();
  ASSERT_EQ(past("n1").node_events_size(), 1);
  EXPECT_EQ(past().node_events(0).end(), 0);
  update_node({{"State", "RESUME"}});
  ASSERT_EQ(past().node_events_size(), 1);
  EXPECT_GT(past().node_events(0).end(), 0);
  restart();
  ASSERT_EQ(past().node_events_size(), 1);
  EXPECT_GT(past().node_events(0).end(), 0);
}

TEST_F(PastEventsTest, AChangeOfTheAccountsHasItsActor) {
  rpc::RequestEnvelope change = change_of_accounts();
  change.body<api::UpdateAccountsRequest>().add_accounts()->set_name("lab");
  ASSERT_EQ(outcome(kRoot, change), 0u) << what_was_said();
  const auto check = [&] {
    const api::HistoryReply reply = past();
    ASSERT_GE(reply.transactions_size(), 1);
    EXPECT_EQ(reply.transactions(0).action(), "Add Accounts");
    EXPECT_EQ(reply.transactions(0).actor(), "root");
    EXPECT_EQ(reply.transactions(0).where(), "lab");
  };
  check();
  restart();
  check();
}

}  // namespace
}  // namespace minke::engine::simulation
