#include "view/reservation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "api/machine.pb.h"
#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "view/block.h"

namespace minke::view {
namespace {

using model::ReservationRecord;

std::string node_list(const ReservationRecord& reservation) {
  std::vector<std::string> names;
  for (const ReservationRecord::Share& share : reservation.shares()) names.push_back(share.node());
  return text::compress_hostlist_sorted(names);
}

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& words,
                   std::string_view before = "") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + std::string(before) + word;
  return out;
}

std::string flags_of(const ReservationRecord& reservation) {
  std::string flags = joined(reservation.flags());
  if (flags.ends_with("PURGE_COMP")) flags += "=" + text::format_seconds(reservation.purge_seconds());
  return flags;
}

std::string or_null(std::string text) {
  return text.empty() ? "(null)" : std::move(text);
}

std::string time_of(int64_t time, const DisplayContext& context) {
  std::string out;
  append_time(out, time, context, "Unknown");
  return out;
}

// Reserved cores are only counted, so this chooses numbers, from 0 up, except those of earlier
// reservations at the same time.
std::string core_ids(const ReservationRecord& reservation, const ReservationRecord::Share& share,
                     const model::NodeRecord& node, const api::ReservationsReply& all) {
  const uint32_t threads = std::max(1u, node.threads_per_core());
  const auto cores_of = [&](const ReservationRecord::Share& one) {
    return (one.cpus() == 0 ? node.cpus() : one.cpus()) / threads;
  };
  uint32_t first = 0;
  for (const ReservationRecord& other : all.reservations()) {
    if (other.id() >= reservation.id() || other.start_time() >= reservation.end_time() ||
        other.end_time() <= reservation.start_time())
      continue;
    for (const ReservationRecord::Share& one : other.shares())
      if (one.node() == node.name()) first += cores_of(one);
  }
  const uint32_t count = cores_of(share), in_all = std::max(1u, node.cpus() / threads);
  first = std::min(first, in_all - std::min(count, in_all));
  return std::to_string(first) + (count > 1 ? "-" + std::to_string(first + count - 1) : "");
}

const char* state_of(const ReservationRecord& reservation, int64_t now) {
  return reservation.start_time() <= now && now < reservation.end_time() ? "ACTIVE" : "INACTIVE";
}

}  // namespace

std::string reservation_tres(const ReservationRecord& reservation, uint64_t cpus) {
  std::string text = cpus == 0 ? "" : "cpu=" + std::to_string(cpus);
  const auto add = [&](const std::string& name, const std::string& type, uint32_t count) {
    if (count == 0) return;
    text.append(text.empty() ? "gres/" : ",gres/").append(name).append(type.empty() ? "" : ":").append(type);
    text.append("=").append(std::to_string(count));
  };
  add("gpu", reservation.gpu_type(), reservation.gpu_count());
  for (const model::Gres& gres : reservation.gres()) add(gres.name(), gres.type(), gres.count());
  return text;
}

uint64_t reservation_cpus(const ReservationRecord& reservation,
                          std::span<const model::NodeRecord* const> nodes) {
  uint64_t cpus = 0;
  for (const ReservationRecord::Share& share : reservation.shares())
    for (const model::NodeRecord* node : nodes)
      if (node->name() == share.node()) cpus += share.cpus() == 0 ? node->cpus() : share.cpus();
  return cpus;
}

uint32_t reservation_cores(const ReservationRecord& reservation,
                           std::span<const model::NodeRecord* const> nodes) {
  uint32_t cores = 0;
  for (const ReservationRecord::Share& share : reservation.shares())
    for (const model::NodeRecord* node : nodes)
      if (node->name() == share.node())
        cores += (share.cpus() == 0 ? node->cpus() : share.cpus()) / std::max(1u, node->threads_per_core());
  return cores;
}

void append_reservation_block(std::string& out, const ReservationRecord& reservation,
                              const api::ReservationsReply& all, const api::NodesReply& nodes,
                              const DisplayContext& context, ShowOptions options) {
  std::vector<const model::NodeRecord*> known;
  for (const model::NodeRecord& node : nodes.nodes()) known.push_back(&node);
  const uint32_t cores = reservation_cores(reservation, known);
  uint32_t cpus = 0;
  std::vector<std::string> core_lines;
  for (const ReservationRecord::Share& share : reservation.shares()) {
    for (const model::NodeRecord& node : nodes.nodes()) {
      if (node.name() != share.node()) continue;
      cpus += share.cpus() == 0 ? node.cpus() : share.cpus();
      if (reservation.core_count() > 0 || reservation.gpu_count() > 0 || reservation.gres_size() > 0)
        core_lines.push_back("  NodeName=" + node.name() +
                             " CoreIDs=" + core_ids(reservation, share, node, all));
    }
  }
  Block block(out, options);
  block
      .put("ReservationName={} StartTime={} EndTime={} Duration={}", reservation.name(),
           time_of(reservation.start_time(), context), time_of(reservation.end_time(), context),
           text::format_seconds(reservation.end_time() - reservation.start_time()))
      .end();
  block
      .put("Nodes={} NodeCnt={} CoreCnt={} Features={} PartitionName={} Flags={}",
           or_null(node_list(reservation)), reservation.shares_size(), cores, or_null(reservation.features()),
           or_null(reservation.partition()), flags_of(reservation))
      .end();
  for (const std::string& line : core_lines) block.put("{}", line).end();
  block.put("TRES={}", or_null(reservation_tres(reservation, cpus))).end();
  if (context.release >= kSlurm26)
    block
        .put("AllowedPartitions={} QOS={}", or_null(joined(reservation.allowed_partitions())),
             or_null(joined(reservation.qos(), reservation.qos_denied() ? "-" : "")))
        .end();
  block
      .put("Users={} Groups={} Accounts={} Licenses={} State={} BurstBuffer=(null){}",
           or_null(joined(reservation.users(), reservation.users_denied() ? "-" : "")),
           or_null(joined(reservation.groups())),
           or_null(joined(reservation.accounts(), reservation.accounts_denied() ? "-" : "")),
           or_null(reservation.licenses()), state_of(reservation, context.now),
           context.release < kSlurm24 ? " Watts=n/a" : "")
      .end();
  block.put("MaxStartDelay=(null)");
  if (!reservation.comment().empty()) {
    block.end();
    block.put("Comment={}", reservation.comment());
  }
  out += options.one_line ? "\n" : "\n\n";
}

void append_reservation_table(std::string& out, const api::ReservationsReply& reservations, bool heading,
                              const DisplayContext& context) {
  size_t width = 9;
  for (const ReservationRecord& one : reservations.reservations()) width = std::max(width, one.name().size());
  auto line = std::back_inserter(out);
  if (heading) {
    fmt::format_to(line, "{:<{}}  {:>8}  {:>19}  {:>19}  {:>11}  NODELIST\n", "RESV_NAME", width, "STATE",
                   "START_TIME", "END_TIME", "DURATION");
  }
  for (const ReservationRecord& one : reservations.reservations()) {
    fmt::format_to(line, "{:<{}}  {:>8}  {:>19}  {:>19}  {:>11}  {}\n", one.name(), width,
                   state_of(one, context.now), time_of(one.start_time(), context),
                   time_of(one.end_time(), context), text::format_seconds(one.end_time() - one.start_time()),
                   node_list(one));
  }
}

}  // namespace minke::view
