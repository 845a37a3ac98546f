#include "cli/sacctmgr/session.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/machine.pb.h"
#include "base/version.h"
#include "cli/sacctmgr/enforcement.h"
#include "engine/fetch.h"
#include "engine/fetch_accounts.h"
#include "engine/open.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

// While it lives, a key pressed on the terminal is read at once, without Enter.
class SingleKeys {
 public:
  SingleKeys() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios single = before_;
    single.c_lflag &= ~static_cast<tcflag_t>(ICANON);
    single.c_cc[VMIN] = 1;
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &single) == 0;
  }
  ~SingleKeys() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  bool are_read() const { return changed_; }
  SingleKeys(const SingleKeys&) = delete;
  SingleKeys& operator=(const SingleKeys&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

// It is printed each time, also with --quiet: users must know that a limit does not hold.
void tell_of_what_has_no_effect(engine::Engine& cluster, const accounts::AccountsChange& change,
                                const accounts::AccountBook& before) {
  if (change.associations.empty() && change.qos.empty()) return;
  const auto answer = cluster.configuration();
  if (!answer) return;
  Parameters parameters;
  for (const api::Field& one : answer->values()) parameters[one.name()] = one.value();
  for (const std::string& sentence : without_effect(change, before, parameters))
    std::fprintf(stderr, "sacctmgr: warning: %s\n", sentence.c_str());
}

// Returns the next character of standard input; nothing at its end or after the deadline.
std::optional<char> next_key(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (left.count() <= 0 || ::poll(&input, 1, static_cast<int>(left.count())) <= 0) return std::nullopt;
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) != 1) return std::nullopt;
  return key;
}

}  // namespace

Result<AccountingSession> AccountingSession::open(const AccountingOptions& options) {
  AccountingSession session;
  session.options_ = options;
  auto cluster = engine::open();
  if (!cluster) return failure(cluster.error());
  session.engine_ = std::move(*cluster);
  const auto reply = session.engine_->accounts(api::QueryAccountsRequest());
  if (!reply) return failure(reply.error());
  auto book = engine::account_book_of(*reply);
  if (!book) return failure(book.error());
  session.book_ = std::move(*book);
  session.cluster_ = engine::fetch_cluster_name(*session.engine_);
  return session;
}

int refuse(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  return 1;
}

std::string AccountingSession::cluster_name(const std::string& in_book) const {
  return in_book.empty() ? cluster_ : in_book;
}

std::string AccountingSession::cluster_in_book(const std::string& name) const {
  const std::string lowered = text::lower_case(name);
  return lowered == text::lower_case(cluster_) ? std::string() : lowered;
}

Result<std::vector<std::string>> AccountingSession::clusters_of(std::span<const Word> words) const {
  std::vector<std::string> clusters;
  for (const std::string& name : list_of(words, "cluster")) {
    clusters.push_back(cluster_in_book(name));
    if (!book_.clusters().contains(clusters.back()))
      return failure(" This cluster '" + name +
                     "' doesn't exist.\n        Contact your admin to add it to accounting.");
  }
  if (clusters.empty()) {
    for (const auto& [name, cluster] : book_.clusters()) clusters.push_back(name);
  }
  return clusters;
}

int AccountingSession::nothing(const std::string& done) const {
  say(" Nothing " + done + "\n");
  return 1;
}

int AccountingSession::nothing_there(const std::string& done) const {
  if (spoken_release() < kSlurm26) return nothing(done);
  say("  Nothing " + done + "\n");
  return 1;
}

void AccountingSession::say(const std::string& text) const {
  if (!options_.quiet) view::write_out(text);
}

bool AccountingSession::agreed(const std::string& question) const {
  if (options_.immediate) return true;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const SingleKeys keys;
  view::write_out(question + " (You have 30 seconds to decide)\n(N/y): ");
  while (const auto key = next_key(deadline)) {
    if (*key != '\n') view::write_out("\n");
    for (auto rest = key; !keys.are_read() && rest && *rest != '\n';) rest = next_key(deadline);
    if (*key == 'y' || *key == 'Y') return true;
    if (*key == 'n' || *key == 'N' || *key == '\n') return false;
    view::write_out("Y or N please\n(N/y): ");
  }
  view::write_out("\n");
  return false;
}

Status AccountingSession::send() {
  api::UpdateAccountsRequest request;
  request.set_version(book_.version());
  for (const auto& one : change.accounts) *request.add_accounts() = one;
  for (const auto& one : change.users) *request.add_users() = one;
  for (const auto& one : change.associations) *request.add_associations() = one;
  for (const auto& one : change.qos) *request.add_qos() = one;
  for (const auto& one : change.removed_accounts) request.add_removed_accounts(one);
  for (const auto& one : change.removed_users) request.add_removed_users(one);
  for (const uint32_t one : change.removed_associations) request.add_removed_associations(one);
  for (const uint32_t one : change.removed_qos) request.add_removed_qos(one);
  for (const auto& one : change.clusters) *request.add_clusters() = one;
  for (const auto& one : change.federations) *request.add_federations() = one;
  for (const auto& one : change.resources) *request.add_resources() = one;
  for (const auto& one : change.removed_clusters) request.add_removed_clusters(one);
  for (const auto& one : change.removed_federations) request.add_removed_federations(one);
  for (const auto& one : change.removed_resources) request.add_removed_resources(one);
  for (const uint32_t one : reset_usage) request.add_reset_usage(one);
  for (const uint32_t one : reset_qos_usage) request.add_reset_qos_usage(one);
  const auto answer = engine_->change_accounts(request);
  if (!answer) return failure(answer.error());
  return {};
}

bool AccountingSession::writable() const {
  if (options_.read_only) std::fprintf(stderr, "Can't run this command in readonly mode.\n");
  return !options_.read_only;
}

int AccountingSession::commit() {
  if (!writable()) return 1;
  if (!agreed()) {
    say(" Changes Discarded\n");
    return 0;
  }
  if (const Status sent = send(); !sent) {
    std::fprintf(stderr, " Error with request: %s\n", sent.error().message.c_str());
    return 1;
  }
  tell_of_what_has_no_effect(*engine_, change, book_);
  return 0;
}

}  // namespace minke::cli
