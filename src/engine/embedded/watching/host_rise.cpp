#include "engine/embedded/watching/host_rise.h"

#include <utility>
#include <vector>

#include "engine/embedded/watching/series.h"
#include "model/measurement.pb.h"

namespace minke::engine {
namespace {

uint64_t rise(uint64_t before, uint64_t now) {
  return now > before ? now - before : 0;
}

}  // namespace

HostRise rise_between(const node::MachineUse& before, const node::MachineUse& now) {
  HostRise found;
  if (before.processor_milliseconds.empty()) return found;
  found.received_kib = rise(before.received_bytes / 1024, now.received_bytes / 1024);
  found.sent_kib = rise(before.sent_bytes / 1024, now.sent_bytes / 1024);
  for (const auto& [id, milliseconds] : now.processor_milliseconds) {
    const auto earlier = before.processor_milliseconds.find(id);
    if (earlier != before.processor_milliseconds.end())
      found.processor_milliseconds[id] = rise(earlier->second, milliseconds);
  }
  return found;
}

void add_host(const HostRise& rise, const node::JobUse& use, size_t held, Series& series,
              model::Sample& sample) {
  if (!use.processors.empty() && use.processors.size() <= held) series.know_processors(use.processors);
  // What rose before the first sample, in part before the job began, is left out.
  const bool is_first = series.samples().empty();
  const model::Sample& last = series.last();
  sample.set_received_kib(last.received_kib() + (is_first ? 0 : rise.received_kib));
  sample.set_sent_kib(last.sent_kib() + (is_first ? 0 : rise.sent_kib));
  const std::vector<uint32_t>& ids = series.processors();
  for (size_t at = 0; at < ids.size(); ++at) {
    const int known = static_cast<int>(at);
    const bool is_new = known >= last.processor_milliseconds_size();
    const auto found = rise.processor_milliseconds.find(ids[at]);
    const uint64_t more = is_new || found == rise.processor_milliseconds.end() ? 0 : found->second;
    sample.add_processor_milliseconds((is_new ? 0 : last.processor_milliseconds(known)) + more);
  }
}

}  // namespace minke::engine
