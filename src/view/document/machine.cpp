#include "view/document/machine.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "api/machine.pb.h"
#include "model/cluster.pb.h"
#include "text/hostlist.h"
#include "view/document/records.h"
#include "view/reservation_text.h"

namespace minke::view {
namespace {

template <typename List>
std::string joined(const List& list) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : ",") + one;
  return text;
}

}  // namespace

void describe_reservation(Document& document, const model::ReservationRecord& reservation,
                          const api::NodesReply& nodes) {
  std::vector<std::string> names;
  uint64_t cpus = 0;
  for (const auto& share : reservation.shares()) {
    names.push_back(share.node());
    const auto& all = nodes.nodes();
    const auto node = std::find_if(all.begin(), all.end(),
                                   [&](const model::NodeRecord& one) { return one.name() == share.node(); });
    cpus += share.cpus() != 0 ? share.cpus() : node == all.end() ? 0 : node->cpus();
  }
  document.begin_object();
  document.text("accounts", (reservation.accounts_denied() ? "-" : "") + joined(reservation.accounts()));
  document.text("burst_buffer", "");
  document.integer("core_count", static_cast<int64_t>(cpus));
  document.begin_array("core_specializations");
  document.end();
  describe_time(document, "end_time", reservation.end_time());
  document.text("features", reservation.features());
  document.begin_array("flags");
  for (const std::string& flag : reservation.flags()) document.text(flag);
  document.end();
  document.text("groups", joined(reservation.groups()));
  document.text("licenses", reservation.licenses());
  document.integer("max_start_delay", reservation.max_start_delay_seconds());
  document.text("name", reservation.name());
  document.integer("node_count", static_cast<int64_t>(names.size()));
  document.text("node_list", text::compress_hostlist_sorted(names));
  document.text("partition", reservation.partition());
  document.begin_object("purge_completed");
  constexpr int64_t kUsualPurge = 300;  // s
  document.number("time",
                  reservation.purge_seconds() == 0 ? kUsualPurge : int64_t{reservation.purge_seconds()});
  document.end();
  describe_time(document, "start_time", reservation.start_time());
  document.number("watts", std::nullopt);
  document.text("tres", reservation_tres(reservation, cpus));
  document.text("users", (reservation.users_denied() ? "-" : "") + joined(reservation.users()));
  document.end();
}

void describe_license(Document& document, const api::License& license) {
  document.begin_object();
  document.text("LicenseName", license.name());
  document.integer("Total", license.total());
  document.integer("Used", license.used());
  document.integer("Free", license.total() - std::min(license.total(), license.used()));
  document.boolean("Remote", false);
  document.integer("Reserved", 0);
  document.integer("LastConsumed", 0);
  document.integer("LastDeficit", 0);
  document.integer("LastUpdate", 0);
  document.end();
}

void describe_ping(Document& document, const std::string& host, bool up, int64_t microseconds) {
  document.begin_object();
  document.text("hostname", host);
  document.text("pinged", up ? "UP" : "DOWN");
  document.boolean("responding", up);
  document.integer("latency", microseconds);
  document.text("mode", "primary");
  document.boolean("primary", true);
  document.text("status", up ? "No error" : "Unable to contact slurm controller (connect failure)");
  document.end();
}

}  // namespace minke::view
