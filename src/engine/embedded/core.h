// Core: the parts of the daemon that make decisions, and what they share.
//
// All parts belong to the state's thread. The order of the members below is their layering: a part calls the
// parts above it in this list directly. Parts further down learn of events: of jobs (job_events.h), of their
// runs (run_events.h) and of the cluster (cluster_events.h). Scheduling starts jobs through Lifecycle, which
// launches, ends, requeues, holds and cancels them. Steps run inside jobs. Recovery settles what a restarted
// daemon finds. `state` and `world` hold the data, `committer` makes every change durable, and `alarms` wakes
// up the jobs for which something falls due.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/configuration.h"
#include "engine/embedded/cluster_events.h"
#include "engine/embedded/job_events.h"
#include "engine/embedded/run_events.h"
#include "engine/embedded/state/alarms.h"
#include "engine/embedded/state/committer.h"
#include "engine/embedded/state/state.h"
#include "engine/embedded/watching/diagnostics.h"
#include "node/launcher_client.h"
#include "os/event_loop.h"
#include "software/software_environment.h"

namespace minke::store {
class Store;
}  // namespace minke::store

namespace minke::engine {

class Accounts;
class AnsweredRequests;
class Crontabs;
class Dependencies;
class History;
class Launching;
class Lifecycle;
class Mail;
class Measuring;
class Nodes;
class PastEvents;
class Preemption;
class Priorities;
class Prologs;
class Quotas;
class Recovery;
class Reservations;
class Retention;
class Rights;
class Scheduling;
class Shortages;
class SoftwareRequests;
class Steps;
class StorageKeeping;
class Triggers;
class Waiting;
class World;

struct Core {
  Core(os::EventLoop& event_loop, config::Configuration configuration, store::Store& durable_store,
       std::function<int64_t()> wall_clock);
  ~Core();

  os::EventLoop& loop;
  config::Configuration config;
  store::Store& store;
  std::function<int64_t()> now;  // s since the epoch
  const int64_t started;         // value of `now` at construction
  State state;
  Committer committer;
  Alarms alarms;
  Diagnostics diagnostics;
  JobEvents job_events;
  RunEvents run_events;
  ClusterEvents cluster_events;
  software::SoftwareEnvironment software;
  std::string hosts_path;  // engine/embedded/launching/confining.h; empty: jobs use the machine's file
  node::LauncherClient* launcher = nullptr;  // set before anything is scheduled

  std::unique_ptr<World> world;
  std::unique_ptr<Nodes> nodes;
  std::unique_ptr<Accounts> accounts;
  std::unique_ptr<Rights> rights;
  std::unique_ptr<PastEvents> past_events;
  std::unique_ptr<AnsweredRequests> answered;
  std::unique_ptr<Reservations> reservations;
  std::unique_ptr<Priorities> priorities;
  std::unique_ptr<History> history;
  std::unique_ptr<Quotas> quotas;
  std::unique_ptr<Shortages> shortages;
  std::unique_ptr<Waiting> waiting;
  std::unique_ptr<Mail> mail;
  std::unique_ptr<StorageKeeping> storage_keeping;
  std::unique_ptr<Retention> retention;
  std::unique_ptr<Launching> launching;
  std::unique_ptr<Prologs> prologs;
  std::unique_ptr<Measuring> measuring;  // it and Steps call each other
  std::unique_ptr<Steps> steps;
  std::unique_ptr<Lifecycle> lifecycle;
  std::unique_ptr<Dependencies> dependencies;
  std::unique_ptr<Triggers> triggers;
  std::unique_ptr<SoftwareRequests> software_requests;
  std::unique_ptr<Crontabs> crontabs;
  std::unique_ptr<Preemption> preemption;
  std::unique_ptr<Scheduling> scheduling;
  std::unique_ptr<Recovery> recovery;
};

}  // namespace minke::engine
