#include "engine/embedded/core.h"

#include <initializer_list>
#include <utility>

#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/quotas.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/launching/launching.h"
#include "engine/embedded/launching/prologs.h"
#include "engine/embedded/launching/shortages.h"
#include "engine/embedded/life_cycle/crontabs.h"
#include "engine/embedded/life_cycle/dependencies.h"
#include "engine/embedded/life_cycle/lifecycle.h"
#include "engine/embedded/life_cycle/waiting.h"
#include "engine/embedded/recovery.h"
#include "engine/embedded/scheduling/history.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/preemption.h"
#include "engine/embedded/scheduling/priorities.h"
#include "engine/embedded/scheduling/reservations.h"
#include "engine/embedded/scheduling/scheduling.h"
#include "engine/embedded/scheduling/world.h"
#include "engine/embedded/state/answered_requests.h"
#include "engine/embedded/steps/steps.h"
#include "engine/embedded/watching/mail.h"
#include "engine/embedded/watching/measuring.h"
#include "engine/embedded/watching/past_events.h"
#include "engine/embedded/watching/retention.h"
#include "engine/embedded/watching/software_requests.h"
#include "engine/embedded/watching/storage_keeping.h"
#include "engine/embedded/watching/triggers.h"
#include "store/store.h"

namespace minke::engine {

Core::Core(os::EventLoop& event_loop, config::Configuration configuration, store::Store& durable_store,
           std::function<int64_t()> wall_clock)
    : loop(event_loop),
      config(std::move(configuration)),
      store(durable_store),
      now(std::move(wall_clock)),
      started(now()),
      committer(event_loop, durable_store, state),
      alarms(event_loop, now, [this](uint32_t job_id) { lifecycle->alarm(job_id); }),
      diagnostics(now),
      world(std::make_unique<World>(build_machine(config.nodes, config.partitions, config.licenses))),
      nodes(std::make_unique<Nodes>(*this)),
      accounts(std::make_unique<Accounts>(*this)),
      rights(std::make_unique<Rights>(*this)),
      past_events(std::make_unique<PastEvents>(*this)),
      answered(std::make_unique<AnsweredRequests>(*this)),
      reservations(std::make_unique<Reservations>(*this)),
      priorities(std::make_unique<Priorities>(*this)),
      history(std::make_unique<History>(*this)),
      quotas(std::make_unique<Quotas>(*this)),
      shortages(std::make_unique<Shortages>(*this)),
      waiting(std::make_unique<Waiting>(*this)),
      mail(std::make_unique<Mail>(*this)),
      storage_keeping(std::make_unique<StorageKeeping>(event_loop, config)),
      retention(std::make_unique<Retention>(*this)),
      launching(std::make_unique<Launching>(*this)),
      prologs(std::make_unique<Prologs>(*this)),
      measuring(std::make_unique<Measuring>(*this)),
      steps(std::make_unique<Steps>(*this)),
      lifecycle(std::make_unique<Lifecycle>(*this)),
      dependencies(std::make_unique<Dependencies>(*this)),
      triggers(std::make_unique<Triggers>(*this)),
      software_requests(std::make_unique<SoftwareRequests>(*this)),
      crontabs(std::make_unique<Crontabs>(*this)),
      preemption(std::make_unique<Preemption>(*this)),
      scheduling(std::make_unique<Scheduling>(*this)),
      recovery(std::make_unique<Recovery>(*this)) {
  // The order matters: usage is measured before it is charged, and everything is settled before the scheduler
  // gives the resources to others.
  for (JobListener* listener : std::initializer_list<JobListener*>{
           measuring.get(), accounts.get(), history.get(), reservations.get(), quotas.get(),
           dependencies.get(), waiting.get(), mail.get(), triggers.get(), crontabs.get(), scheduling.get()})
    job_events.add(*listener);
  for (RunListener* listener :
       std::initializer_list<RunListener*>{shortages.get(), steps.get(), lifecycle.get()})
    run_events.add(*listener);
  for (ClusterListener* listener : std::initializer_list<ClusterListener*>{past_events.get(), accounts.get(),
                                                                           scheduling.get(), lifecycle.get()})
    cluster_events.add(*listener);
  committer.on_problem([this] { shortages->store_changed(); });
}

Core::~Core() = default;

}  // namespace minke::engine
