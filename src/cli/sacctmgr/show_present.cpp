#include "cli/sacctmgr/show_present.h"

#include <algorithm>

#include "engine/fetch.h"
#include "model/cluster.pb.h"
#include "text/timestamp.h"
#include "view/reservation_text.h"

namespace minke::cli {
namespace {

bool is_wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<std::vector<ShownLine>> reservation_lines(AccountingSession& session,
                                                 const std::vector<std::string>& names) {
  const auto nodes = engine::fetch_nodes(session.engine());
  if (!nodes) return failure(nodes.error());
  const auto answer = session.engine().reservations();
  if (!answer) return failure(answer.error());
  std::vector<ShownLine> lines;
  for (const model::ReservationRecord& one : answer->reservations()) {
    if (one.start_time() > answer->now() || !is_wanted(names, one.name())) continue;
    ShownLine& line = lines.emplace_back();
    line.here = session.cluster();
    line.name = one.name();
    line.tres = "cpu=" + std::to_string(view::reservation_cpus(one, nodes->records));
    line.started = text::format_time(one.start_time());
    line.ended = text::format_time(one.end_time());
    line.unused = "0.000000";
  }
  return lines;
}

}  // namespace minke::cli
