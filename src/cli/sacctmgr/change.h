// sacctmgr add, modify and delete: each prints what it is about to do, asks, and does it. The exit status.
#pragma once

#include <span>
#include <string_view>

#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/words.h"

namespace minke::cli {

int add_account(AccountingSession& session, const Words& words);
int add_user(AccountingSession& session, const Words& words);
int add_qos(AccountingSession& session, const Words& words);
int change_coordinators(AccountingSession& session, const Words& words, bool add);
int modify_account(AccountingSession& session, const Words& words);
int modify_user(AccountingSession& session, const Words& words);
int modify_qos(AccountingSession& session, const Words& words);
int delete_account(AccountingSession& session, const Words& words);
int delete_user(AccountingSession& session, const Words& words);
int delete_qos(AccountingSession& session, const Words& words);

// The associations of users (`user`), or of accounts, that satisfy account=, user=, partition=, cluster= and
// the names.
std::vector<const model::AssociationRecord*> matching(const AccountingSession& session,
                                                      std::span<const Word> where, bool user);
// The values of name= and of words without a name.
std::vector<std::string> names_in(std::span<const Word> words, std::string_view entity);
std::string admin_level_text(model::AdminLevel level);
std::optional<model::AdminLevel> parse_admin_level(std::string_view text);

}  // namespace minke::cli
