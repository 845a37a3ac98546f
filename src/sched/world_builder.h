// WorldBuilder: makes a World from records. It lays out the machine, books the running jobs and enters the
// jobs that may start. Internal to world.h. Each builder is used once, by World::build.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sched/make_request.h"
#include "sched/world.h"

namespace minke::sched {

class WorldBuilder {
 public:
  WorldBuilder(WorldRecords records, std::int64_t now) : records_(std::move(records)), now_(now) {}
  Result<World> build();

 private:
  // Job ids for a note: the first ones, and how many there are.
  struct Named {
    std::vector<std::uint32_t> ids;
    void add(std::uint32_t id) { ids.push_back(id); }
  };
  void note(const Named& jobs, const std::string& what);
  Result<Machine> make_machine();
  void take_reservations();
  void take_jobs();
  void learn();  // from ended jobs
  void book_running();
  bool book(const model::JobRecord& record);
  // Drops devices that another job already holds, as happens if records are of two moments.
  void drop_held_devices(Placement& placement);
  Placement equal_parts(const model::JobRecord& record) const;
  void add_devices(const model::Gres& gres, std::uint32_t count, NodeShare& share) const;
  void book_hidden();
  std::optional<NodeShare> hidden_on(const model::NodeRecord& node) const;
  void book_hidden_licenses();
  void enter_waiting();
  void enter(World::Job& job);
  void enter_components(std::vector<World::Job*> components);
  std::optional<World::Obstacle> obstacle(const model::JobRecord& record);
  std::uint32_t startable(const model::JobRecord& record);
  void keep_out(World::Job& job, World::Obstacle obstacle);
  void warn();  // about things that records of other clusters do not contain

  WorldRecords records_;
  const std::int64_t now_;
  std::optional<World> world_;
  std::vector<std::string> notes_;
  // Total CPUs and memory of the running jobs on each node.
  struct Held {
    std::int64_t cpus = 0, memory_mib = 0;
  };
  std::map<NodeId, Held> held_;
  struct Throttle {
    std::uint64_t most = 0;  // 0: none
    std::uint64_t running = 0;
  };
  const Throttle& throttle(std::uint32_t array_job_id);
  std::map<std::uint32_t, Throttle> throttles_;  // cache by array id
  PossibleRequests possible_;
  Named twice_, nowhere_, spread_, limited_, impossible_, incomplete_;
};

}  // namespace minke::sched
