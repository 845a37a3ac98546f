// What a queue remembers of earlier passes does not change decisions: it is compared with
// a queue that remembers nothing.
#include "sched/withheld.h"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "sched/test_pass_fixture.h"

namespace minke::sched {
namespace {

using testing::PassFixture;
using testing::Random;

// The same queue, made anew.
void forget(PendingQueue& queue) {
  PendingQueue fresh;
  PendingQueue::Cursor cursor(queue);
  while (const auto item = cursor.next()) fresh.insert(item->entry, queue.request(item->class_id));
  queue = std::move(fresh);
}

class Twins {
 public:
  // `plain`: like nodes and plain jobs, of which many fit but for the one that has a reservation; nodes stay.
  Twins(Random& random, bool plain, bool two_partitions)
      : random_(random),
        plain_(plain),
        a_(plain ? testing::uniform_machine(5, 8, 100, {testing::make_gres("a", 3)})
                 : testing::random_machine(random, 6, two_partitions)),
        b_(a_) {}

  // Both decide alike from here on, whatever happens in between.
  void live(std::uint32_t steps, const PassOptions& options) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      now_ += random_.one_in(3) ? 0 : random_.up_to(200);
      for (std::uint32_t events = random_.up_to(2); events > 0; --events) happen();
      a_.pass(now_, options);
      forget(b_.queue);
      b_.pass(now_, options);
      ASSERT_EQ(a_.starts, b_.starts) << "step " << step;
    }
  }
  std::size_t starts() const { return a_.starts.size(); }

 private:
  void happen() {
    const NodeId node = random_.up_to(static_cast<std::uint32_t>(a_.machine.layout().nodes().size()) - 1);
    switch (random_.up_to(plain_ && !random_.one_in(10) ? 5 : 9)) {
      case 0:
      case 1:
      case 2:
        return submit();
      case 3:
      case 4:
      case 5:
        return end();
      case 6:
        return change_end();
      case 7:
        return leave();
      case 8:
        return both([&](PassFixture& world) { world.machine.set_available(node, up_); });
      default:
        up_ = !up_;
        return outrank();
    }
  }
  template <typename Change>
  void both(Change change) {
    change(a_);
    change(b_);
  }

  void submit() {
    Request request = plain_ ? plain_request() : testing::random_request(random_, a_.machine);
    if (!shapes_.empty() && random_.one_in(2)) {
      request = shapes_[random_.up_to(static_cast<std::uint32_t>(shapes_.size()) - 1)];
    } else {
      shapes_.push_back(request);
    }
    const EntryId id = ++last_id_;
    const PendingEntry entry{id, random_.up_to(2), id, 1};
    both([&](PassFixture& world) { world.queue.insert(entry, request); });
  }
  Request plain_request() {
    Request request = testing::small_job(random_.between(1, 8), random_.between(1, 20),
                                         random_.one_in(3) ? random_.between(1, 5) : 1);
    if (random_.one_in(3))
      request.gres.push_back({*a_.machine.layout().gpu_name(), kAnyKind, random_.between(1, 3), 0, 0});
    return request;
  }
  std::optional<RunKey> one_that_runs() {
    if (a_.running.size() == 0) return std::nullopt;
    auto at = a_.running.by_end().begin();
    std::advance(at, random_.up_to(static_cast<std::uint32_t>(a_.running.size()) - 1));
    return at->first.key;
  }
  void end() {
    const auto key = one_that_runs();
    if (key) both([&](PassFixture& world) { world.end(*key); });
  }
  void change_end() {
    const auto key = one_that_runs();
    const std::int64_t time = now_ + random_.up_to(1000);
    if (key) both([&](PassFixture& world) { world.running.set_expected_end(*key, time); });
  }
  void leave() {
    const EntryId id = random_.between(1, static_cast<std::uint32_t>(last_id_ + 1));
    both([&](PassFixture& world) { world.queue.remove(id); });
  }
  void outrank() {
    const EntryId id = random_.between(1, static_cast<std::uint32_t>(last_id_ + 1));
    both([&](PassFixture& world) { world.queue.set_priority(id, 5); });
  }

  Random& random_;
  const bool plain_;
  PassFixture a_, b_;
  std::vector<Request> shapes_;
  EntryId last_id_ = 0;
  std::int64_t now_ = 1000;
  bool up_ = true;
};

TEST(Withheld, ChangesNoDecision) {
  std::size_t starts = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Twins twins(random, seed % 2 == 0, seed % 4 == 3);
    PassOptions options;
    options.shortest_first = seed % 3 == 1;
    options.reservations_per_partition = seed % 5 == 4 ? 2 : 1;
    twins.live(120, options);
    if (HasFatalFailure()) return;
    starts += twins.starts();
  }
  EXPECT_GT(starts, 3000u);
}

}  // namespace
}  // namespace minke::sched
