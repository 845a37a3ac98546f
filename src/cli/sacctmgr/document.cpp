#include "cli/sacctmgr/document.h"

#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/accounts.pb.h"
#include "api/diagnostics.pb.h"
#include "api/machine.pb.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "text/number.h"
#include "view/document/accounts.h"
#include "view/document/configuration.h"
#include "view/document/machine.h"

namespace minke::cli {
namespace {

struct Described {
  std::string_view entity, key, answer;
};
constexpr Described kDescribed[] = {{"accounts", "accounts", view::answer::kAccounts},
                                    {"associations", "associations", view::answer::kAssociations},
                                    {"clusters", "clusters", view::answer::kClusters},
                                    {"qos", "qos", view::answer::kQos},
                                    {"tres", "TRES", view::answer::kTres},
                                    {"users", "users", view::answer::kUsers},
                                    {"wckeys", "wckeys", view::answer::kWckeys}};

void finish(DocumentOutput& output, const AccountingSession& session) {
  view::DisplayContext context = view::display_context_from_environment();
  context.cluster_name = session.cluster();
  output.finish(context);
}

void describe_cluster(AccountingSession& session, const ShownLine& line, view::Document& document) {
  std::vector<model::NodeRecord> nodes;
  const std::string& in_book = line.cluster->name();
  if (session.cluster_in_book(session.cluster()) == in_book) {
    if (const auto fetched = engine::fetch_nodes(session.engine()))
      for (const model::NodeRecord* node : fetched->records) nodes.push_back(*node);
  }
  view::describe_cluster(document, session.cluster_name(in_book), session.book().root_of(in_book), nodes);
}

}  // namespace

std::optional<int> show_document(AccountingSession& session, std::string_view entity,
                                 std::span<const ShownLine> lines, bool with_associations,
                                 const ShowStyle& style) {
  const Described* described = nullptr;
  for (const Described& one : kDescribed)
    if (one.entity == entity) described = &one;
  if (described == nullptr) return std::nullopt;
  DocumentOutput output(*style.document, style.origin, described->answer);
  view::Document& document = output.document();
  document.begin_array(described->key);
  std::set<const void*> seen;  // an account with several associations is one record
  for (const ShownLine& line : lines) {
    if (entity == "associations") {
      view::describe_association(document, *line.association, session.book(),
                                 session.cluster_name(line.association->cluster()));
    } else if (entity == "accounts" && seen.insert(line.account).second) {
      view::describe_account(document, *line.account, session.book(), session.cluster(), with_associations);
    } else if (entity == "users" && seen.insert(line.user).second) {
      view::describe_user(document, *line.user, session.book(), session.cluster(), with_associations);
    } else if (entity == "qos") {
      view::describe_qos(document, *line.qos);
    } else if (entity == "tres") {
      view::describe_tres_kind(document, line.type, line.name, std::atoi(line.id.c_str()), 0);
    } else if (entity == "wckeys") {
      view::describe_wckey(document, line.name, *line.user, session.cluster());
    } else if (entity == "clusters") {
      describe_cluster(session, line, document);
    }
    output.flush_if_long();
  }
  document.end();
  finish(output, session);
  return 0;
}

std::optional<int> ping_accounting(const ShowStyle& style) {
  if (view::data_parser() < 42) return std::nullopt;
  const auto begin = std::chrono::steady_clock::now();
  const auto cluster = engine::open();
  const auto waited = std::chrono::steady_clock::now() - begin;
  view::DisplayContext context = view::display_context_from_environment();
  if (cluster) context.cluster_name = engine::fetch_cluster_name(**cluster);
  DocumentOutput output(*style.document, style.origin, view::answer::kAccountingPings);
  output.document().begin_array("pings");
  view::describe_ping(output.document(), "localhost", cluster.has_value(),
                      std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
  output.document().end();
  output.finish(context);
  return cluster ? 0 : 1;
}

std::optional<int> show_document_of_its_own(AccountingSession& session, std::string_view given,
                                            const ShowStyle& style) {
  const auto is = [&](std::string_view name, size_t shortest) {
    return given.size() >= shortest && text::starts_with_ignoring_case(name, given);
  };
  if (is("instances", 1)) {
    DocumentOutput output(*style.document, style.origin, view::answer::kInstances);
    finish(output, session);
    return 0;
  }
  if (is("configuration", 2) && view::data_parser() >= 45) {
    const auto config = session.engine().configuration();
    if (!config) return refuse("sacctmgr: error: " + config.error().message);
    DocumentOutput output(*style.document, style.origin, view::answer::kAccountingConfiguration);
    view::describe_accounting_configuration(output.document(), *config);
    finish(output, session);
    return 0;
  }
  if (!is("stats", 1)) return std::nullopt;
  const auto ability = session.engine().administration();
  if (!ability) return refuse("sacctmgr: error: " + ability.error().message);
  const auto answer = (*ability)->diagnostics(api::QueryDiagnosticsRequest());
  if (!answer) return refuse("sacctmgr: error: " + answer.error().message);
  DocumentOutput output(*style.document, style.origin, view::answer::kAccountingStatistics);
  view::describe_accounting_statistics(output.document(), *answer);
  finish(output, session);
  return 0;
}

}  // namespace minke::cli
