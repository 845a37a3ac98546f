#include "node/stub_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/launch.pb.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

TEST(StubLauncher, EndsEveryOrderAtOnceAndInOrder) {
  os::EventLoop loop;
  std::vector<std::string> told;
  auto name = [](const char* what, const LaunchId& id) { return what + std::to_string(id.job_id()); };
  LauncherClient::Callbacks callbacks;
  std::unique_ptr<LauncherClient> client;
  callbacks.on_inventory = [&](Inventory inventory) {
    EXPECT_EQ(inventory.launches_size(), 0);
    EXPECT_TRUE(client->connected());
    client->launch(batch_order(1, "", "/"), {});
    client->launch(step_order(2, 0, "", "/", 2), {});
    client->end_job({});
    told.push_back("inventory");
  };
  callbacks.on_started = [&](Launch launch) { told.push_back(name("started", launch.id())); };
  callbacks.on_task_ended = [&](Launch launch) {
    ASSERT_EQ(launch.ended_tasks_size(), 1);
    told.push_back(name("task", launch.id()));
  };
  callbacks.on_ended = [&](Launch launch) {
    for (const TaskEnd& end : launch.ended_tasks()) EXPECT_EQ(end.status(), 0);
    EXPECT_GT(launch.end_time(), 0);
    told.push_back(name("ended", launch.id()));
  };
  callbacks.on_job_ended = [&](JobEnded) {
    told.push_back("job_ended");
    client->shutdown();
  };
  callbacks.on_lost_connection = [&](Status) { loop.stop(); };
  client = make_stub_launcher(loop, callbacks);
  client->start();
  EXPECT_TRUE(told.empty());  // nothing is told inside a call
  loop.run();
  EXPECT_THAT(told, testing::ElementsAre("inventory", "started1", "ended1", "started2", "task2", "task2",
                                         "ended2", "job_ended"));
  EXPECT_FALSE(client->connected());
}

}  // namespace
}  // namespace minke::node
