// sacctmgr add, modify and delete: each prints its change, asks, and makes it. They return the exit status.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/words.h"

namespace minke::model {
enum AdminLevel : int;
}  // namespace minke::model

namespace minke::cli {

int add_account(AccountingSession& session, const Words& words);
int add_user(AccountingSession& session, const Words& words);
int add_qos(AccountingSession& session, const Words& words);
int add_cluster(AccountingSession& session, const Words& words);
int add_federation(AccountingSession& session, const Words& words);
int add_resource(AccountingSession& session, const Words& words);
int change_coordinators(AccountingSession& session, const Words& words, bool add);
int modify_account(AccountingSession& session, const Words& words);
int modify_user(AccountingSession& session, const Words& words);
int modify_qos(AccountingSession& session, const Words& words);
int modify_cluster(AccountingSession& session, const Words& words);
int modify_federation(AccountingSession& session, const Words& words);
int modify_resource(AccountingSession& session, const Words& words);
int modify_job(AccountingSession& session, const Words& words);
int delete_account(AccountingSession& session, const Words& words);
int delete_user(AccountingSession& session, const Words& words);
int delete_qos(AccountingSession& session, const Words& words);
int delete_cluster(AccountingSession& session, const Words& words);
int delete_federation(AccountingSession& session, const Words& words);
int delete_resource(AccountingSession& session, const Words& words);

std::string admin_level_text(model::AdminLevel level);
std::optional<model::AdminLevel> parse_admin_level(std::string_view text);

}  // namespace minke::cli
