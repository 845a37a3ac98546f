// Accounts, users, associations and QOS for --json and --yaml: the shape of Slurm's
// data_parser v0.0.42.
//
// Each function writes one value of an array that the caller has opened. Pure.
#pragma once

#include <span>
#include <string>

#include "accounts/account_book.h"
#include "view/document/document.h"

namespace minke::api {
class DiagnosticsReply;
}  // namespace minke::api

namespace minke::model {
class AccountRecord;
class AssociationRecord;
class NodeRecord;
class QosRecord;
class UserRecord;
}  // namespace minke::model

namespace minke::view {

void describe_association(Document& document, const model::AssociationRecord& record,
                          const accounts::AccountBook& book, const std::string& cluster);
// `with_associations` includes its associations.
void describe_account(Document& document, const model::AccountRecord& record,
                      const accounts::AccountBook& book, const std::string& cluster, bool with_associations);
void describe_user(Document& document, const model::UserRecord& record, const accounts::AccountBook& book,
                   const std::string& cluster, bool with_associations);
void describe_qos(Document& document, const model::QosRecord& record);
void describe_wckey(Document& document, const std::string& key, const model::UserRecord& user,
                    const std::string& cluster);
// `nodes` are those of the cluster that is served here; none: another one. `root` is its first association.
void describe_cluster(Document& document, const std::string& name, uint32_t root,
                      std::span<const model::NodeRecord> nodes);
// Writes "statistics": what the daemon, which keeps the accounts, was asked.
void describe_accounting_statistics(Document& document, const api::DiagnosticsReply& reply);

// One kind of accounted resource: "gres", "gpu", 1001.
void describe_tres_kind(Document& document, const std::string& type, const std::string& name, int64_t id,
                        int64_t count);

}  // namespace minke::view
