#include "portal/node_events.h"

#include <algorithm>

#include "api/history.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/cluster.pb.h"

namespace minke::portal {
namespace {

std::vector<view::NodeEvent> kept_events(engine::HistoryAbility& past, int64_t from, int64_t until) {
  std::vector<view::NodeEvent> events;
  api::QueryHistoryRequest request;
  request.set_from(from);
  request.set_until(until);
  request.set_node_events(true);
  const auto told = past.history(request);
  if (!told) return events;
  for (const model::NodeEvent& one : told->node_events())
    events.push_back({.node = one.node(),
                      .state = one.state(),
                      .reason = one.reason(),
                      .since = one.start(),
                      .until = one.end(),
                      .uid = one.uid()});
  return events;
}

std::vector<view::NodeEvent> present_events(engine::Engine& cluster, int64_t until) {
  std::vector<view::NodeEvent> events;
  const auto nodes = engine::fetch_nodes(cluster);
  if (!nodes) return events;
  for (const model::NodeRecord* node : nodes->records)
    if (auto event = view::present_event(*node); event && event->since <= until)
      events.push_back(std::move(*event));
  return events;
}

}  // namespace

std::vector<view::NodeEvent> events_of_nodes(engine::Engine& cluster, const std::set<std::string>& names,
                                             int64_t from, int64_t until) {
  const auto past = cluster.past();
  auto events = past ? kept_events(**past, from, until) : present_events(cluster, until);
  std::erase_if(events,
                [&](const view::NodeEvent& one) { return !names.empty() && !names.contains(one.node); });
  std::stable_sort(events.begin(), events.end(),
                   [](const view::NodeEvent& a, const view::NodeEvent& b) { return a.since > b.since; });
  return events;
}

}  // namespace minke::portal
