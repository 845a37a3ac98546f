// Accounts, users, associations and QOS of a Slurm with slurmdbd, from the lines of sacctmgr and of sshare,
// as Minke's own.
//
// Association 1 is root and QOS 1 is "normal" in Minke; where they have other numbers there, they change
// places with those that have 1. Limits of users are those that hold: sacctmgr shows what a user has of his
// account as his. Text of people's stands last in a line; lines with too few fields are passed over. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::api {
class AccountsReply;
}  // namespace minke::api

namespace minke::engine::slurm {

// What sacctmgr and sshare are asked for, as their --format has it.
extern const char* const kAssociationColumns;
extern const char* const kUserColumns;
extern const char* const kAccountColumns;
extern const char* const kQosColumns;
extern const char* const kShareColumns;

// The lines that they said, without their ends.
struct ToldAccounts {
  std::vector<std::string> associations, users, accounts, qos;
};

// Parents stand before their children; an association whose parent is not told of is left out, and accounts
// and users without any association of this cluster, too.
void add_accounts(const ToldAccounts& told, api::AccountsReply& reply);
// Usage, what running jobs may still use, and fair share of each association; zeros of those not told of.
void add_shares(const std::vector<std::string>& lines, api::AccountsReply& reply);

}  // namespace minke::engine::slurm
