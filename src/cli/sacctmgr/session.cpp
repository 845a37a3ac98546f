#include "cli/sacctmgr/session.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "cli/fetch.h"

namespace minke::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

// The next line of standard input; nothing at its end or when time is up.
std::optional<std::string> next_line(std::chrono::steady_clock::time_point deadline) {
  std::string line;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&input, 1, static_cast<int>(left.count())) <= 0) return std::nullopt;
    char c = 0;
    if (::read(STDIN_FILENO, &c, 1) != 1) return std::nullopt;
    if (c == '\n') return line;
    line += c;
  }
}

}  // namespace

Result<AccountingSession> AccountingSession::open(const AccountingOptions& options) {
  AccountingSession session;
  session.options_ = options;
  auto client = Client::connect();
  if (!client) return failure(client.error());
  session.client_ = std::make_shared<Client>(std::move(*client));
  rpc::ClientMessage request;
  request.mutable_query_accounts();
  auto answer = session.client_->call(request);
  if (!answer) return failure(answer.error());
  const rpc::AccountsReply& reply = answer->accounts();
  sched::AccountsChange all;
  all.accounts.assign(reply.accounts().begin(), reply.accounts().end());
  all.users.assign(reply.users().begin(), reply.users().end());
  all.associations.assign(reply.associations().begin(), reply.associations().end());
  all.qos.assign(reply.qos().begin(), reply.qos().end());
  if (const Status applied = session.book_.apply(all); !applied) return failure(applied.error());
  session.book_.set_version(reply.version());
  session.cluster_ = fetch_cluster_name(*session.client_);
  return session;
}

void AccountingSession::say(const std::string& text) const {
  if (!options_.quiet) write_out(text);
}

bool AccountingSession::agreed(const std::string& question) const {
  if (options_.immediate) return true;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  write_out(question + " (You have 30 seconds to decide)\n(N/y): ");
  while (const auto line = next_line(deadline)) {
    if (*line == "y" || *line == "Y") return true;
    if (*line == "n" || *line == "N" || line->empty()) return false;
    write_out("Y or N please\n(N/y): ");
  }
  write_out("\n");
  return false;
}

Status AccountingSession::send() {
  rpc::ClientMessage message;
  rpc::UpdateAccountsRequest& request = *message.mutable_update_accounts();
  request.set_version(book_.version());
  for (const auto& one : change.accounts) *request.add_accounts() = one;
  for (const auto& one : change.users) *request.add_users() = one;
  for (const auto& one : change.associations) *request.add_associations() = one;
  for (const auto& one : change.qos) *request.add_qos() = one;
  for (const auto& one : change.removed_accounts) request.add_removed_accounts(one);
  for (const auto& one : change.removed_users) request.add_removed_users(one);
  for (const uint32_t one : change.removed_associations) request.add_removed_associations(one);
  for (const uint32_t one : change.removed_qos) request.add_removed_qos(one);
  for (const uint32_t one : reset_usage) request.add_reset_usage(one);
  for (const uint32_t one : reset_qos_usage) request.add_reset_qos_usage(one);
  const auto answer = client_->call(message);
  if (!answer) return failure(answer.error());
  return {};
}

int AccountingSession::commit() {
  if (options_.read_only) {
    std::fprintf(stderr, "Can't run this command in readonly mode.\n");
    return 1;
  }
  if (!agreed()) {
    say(" Changes Discarded\n");
    return 0;
  }
  if (const Status sent = send(); !sent) {
    std::fprintf(stderr, " Error with request: %s\n", sent.error().message.c_str());
    return 1;
  }
  return 0;
}

}  // namespace minke::cli
