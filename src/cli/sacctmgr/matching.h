// Finds the associations that a command is about, and applies settings to them.
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

// Returns the associations of users (`user`), or of accounts, that match account=, user=, partition=,
// cluster= and the names; none for an unknown cluster.
std::vector<const model::AssociationRecord*> matching(const AccountingSession& session,
                                                      std::span<const Word> where, bool user);

// Applies the settings of an association; passes the others to `other`, which says whether it knows them.
Status apply_settings(std::span<const Word> words, model::AssociationRecord& record,
                      const accounts::AccountBook& book, bool& any,
                      const std::function<bool(const Word&)>& other);

// Modifies all of them alike; `other` as above. Returns false if none was an association's setting.
Result<bool> modify_associations(AccountingSession& session, const Words& words,
                                 const std::vector<const model::AssociationRecord*>& found,
                                 const std::function<bool(const Word&)>& other);

// Tells as each release does that nothing fits; `kind`: account or user.
int nothing_modified(const AccountingSession& session, const std::string& kind);
// Returns the users' associations below the account that get what these words set for it, as they have no
// such setting of their own, nor has an account between.
std::vector<const model::AssociationRecord*> inheritors(const AccountingSession& session,
                                                        const model::AssociationRecord& account,
                                                        std::span<const Word> set);

int reset_usage(AccountingSession& session, const std::vector<const model::AssociationRecord*>& found,
                const Word& word);

// Returns one line: "  C = tc1        A = a1                   U = u1       ".
std::string on_cluster(const AccountingSession& session, const model::AssociationRecord& one);

bool contains(const std::vector<std::string>& list, const std::string& name);
std::string lower_value(std::span<const Word> words, std::string_view name);  // the first; empty: not given

}  // namespace minke::cli
