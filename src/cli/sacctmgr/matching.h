// Which associations a command is about, and settings applied to them.
//
// Pure.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/settings.h"

namespace minke::model {
class AssociationRecord;
}  // namespace minke::model

namespace minke::cli {

// The associations of users (`user`), or of accounts, that satisfy account=, user=, partition=, cluster= and
// the names; of a cluster that is not known none.
std::vector<const model::AssociationRecord*> matching(const AccountingSession& session,
                                                      std::span<const Word> where, bool user);

// Settings that are an association's; what is not is left to `other`, which says whether it knows it.
Status apply_settings(std::span<const Word> words, model::AssociationRecord& record,
                      const accounts::AccountBook& book, bool& any,
                      const std::function<bool(const Word&)>& other);

// Modifies all of them alike; `other` as above. False: nothing was an association's setting.
Result<bool> modify_associations(AccountingSession& session, const Words& words,
                                 const std::vector<const model::AssociationRecord*>& found,
                                 const std::function<bool(const Word&)>& other);

int reset_usage(AccountingSession& session, const std::vector<const model::AssociationRecord*>& found,
                const Word& word);

// "  C = tc1        A = a1                   U = u1       ", a line.
std::string on_cluster(const AccountingSession& session, const model::AssociationRecord& one);

bool contains(const std::vector<std::string>& list, const std::string& name);
std::string lower_value(std::span<const Word> words, std::string_view name);  // the first; empty: not given

}  // namespace minke::cli
