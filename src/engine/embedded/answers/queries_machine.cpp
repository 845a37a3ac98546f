// Answers about the machine as jobs use it now: the licenses that they hold.
#include <algorithm>

#include "api/machine.pb.h"
#include "engine/embedded/answers/queries.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/world.h"
#include "rpc/envelope.h"

namespace minke::engine {

using namespace model;

void Queries::licenses(const Part& part) {
  rpc::AnswerEnvelope message;
  api::LicensesReply& reply = message.body<api::LicensesReply>();
  reply.set_now(core_.now());
  const sched::Machine& machine = core_.world->machine();
  for (size_t i = 0; i < machine.layout().licenses().size(); ++i) {
    const sched::LicensePool& pool = machine.layout().licenses()[i];
    api::License& license = *reply.add_licenses();
    license.set_name(pool.name);
    license.set_total(pool.count);
    const int64_t used = int64_t{pool.count} - machine.free_licenses(static_cast<sched::LicenseId>(i));
    license.set_used(static_cast<uint32_t>(std::max<int64_t>(0, used)));
  }
  part(message.message(), true);
}

}  // namespace minke::engine
