// The possible columns of sacctmgr's tables.
//
// Pure.
#pragma once

#include <span>
#include <string>

#include "cli/sacctmgr/session.h"
#include "model/accounts.pb.h"
#include "view/print_fields.h"

namespace minke::cli {

// One row of any table; the parts that it does not have are null.
struct ShownLine {
  const model::AssociationRecord* association = nullptr;
  const model::AccountRecord* account = nullptr;
  const model::UserRecord* user = nullptr;
  const model::QosRecord* qos = nullptr;
  const model::ClusterRecord* cluster = nullptr;
  const model::ResourceRecord* resource = nullptr;
  const model::ResourceRecord::Share* share = nullptr;  // of the resource
  bool is_federation = false;
  int level = 0;  // in the tree
  std::string type, name, id, problem, federation, default_on;
  // Of events and reservations.
  std::string here, node, started, ended, state, reason, actor, tres, unused;
  std::string duration, event, event_raw, state_raw;  // of events
  std::string action, by, where, info;                // of transactions
};
struct ShowContext {
  const AccountingSession* session;
  bool own_limits = false;  // WOPLimits: only limits that are set there
  const accounts::AccountBook& book() const { return session->book(); }
};
using ShowField = view::PrintField<ShownLine, ShowContext>;

std::span<const ShowField> show_fields();

}  // namespace minke::cli
