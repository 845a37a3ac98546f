// Clusters, wckeys, and what the keeper of the accounts was asked, for --json and --yaml.
#include <string>
#include <tuple>
#include <vector>

#include "api/diagnostics.pb.h"
#include "base/version.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "view/document/accounts.h"

namespace minke::view {

void describe_wckey(Document& document, const std::string& key, const model::UserRecord& user,
                    const std::string& cluster) {
  document.begin_object();
  document.text("cluster", cluster);
  document.text("name", key);
  document.text("user", user.name());
  document.end();
}

void describe_cluster(Document& document, const std::string& name, uint32_t root,
                      std::span<const model::NodeRecord> nodes) {
  std::vector<std::string> names;
  int64_t cpus = 0, memory_mib = 0, gpus = 0;
  for (const model::NodeRecord& node : nodes) {
    names.push_back(node.name());
    cpus += node.cpus();
    memory_mib += static_cast<int64_t>(node.memory_mib());
    gpus += static_cast<int64_t>(text::gpus_in(node.gres()));
  }
  const bool here = !nodes.empty();
  document.begin_object();
  document.begin_object("controller");
  document.text("host", here ? "localhost" : "");
  document.end();
  document.text("name", name);
  document.text("nodes", text::compress_hostlist_sorted(names));
  document.begin_object("associations");
  document.begin_object("root");
  document.text("account", "root");
  document.text("cluster", name);
  document.integer("id", root);
  document.end();
  document.end();
  document.text("select_plugin", here && spoken_release() >= kSlurm26 ? "select/cons_tres" : "");
  document.integer("rpc_version", here ? protocol_of(spoken_release()) : 0);
  document.begin_array("tres");
  const std::tuple<const char*, const char*, int64_t, int64_t> tres[] = {
      {"cpu", "", 1, cpus},       {"mem", "", 2, memory_mib},
      {"energy", "", 3, 0},       {"node", "", 4, names.size()},
      {"billing", "", 5, cpus},   {"fs", "disk", 6, 0},
      {"vmem", "", 7, 0},         {"pages", "", 8, 0},
      {"gres", "gpu", 1001, gpus}};
  for (const auto& [type, kind, id, count] : tres)
    if (here) describe_tres_kind(document, type, kind, id, count);
  document.end();
  document.end();
}

void describe_accounting_statistics(Document& document, const api::DiagnosticsReply& reply) {
  document.begin_object("statistics");
  document.integer("time_start", reply.since());
  const auto requests = [&](std::string_view list, std::string_view key, const auto& lines) {
    document.begin_array(list);
    for (const api::RequestStatistics& line : lines) {
      document.begin_object();
      document.text(key, line.name());
      document.integer("count", static_cast<int64_t>(line.count()));
      document.begin_object("time");
      document.integer("average",
                       static_cast<int64_t>(line.count() == 0 ? 0 : line.total_time() / line.count()));
      document.integer("total", static_cast<int64_t>(line.total_time()));
      document.end();
      document.end();
    }
    document.end();
  };
  requests("RPCs", "rpc", reply.by_type());
  requests("users", "user", reply.by_user());
  document.end();
}

}  // namespace minke::view
