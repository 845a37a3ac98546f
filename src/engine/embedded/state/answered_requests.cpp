#include "engine/embedded/state/answered_requests.h"

#include <algorithm>
#include <utility>

#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/server/budgets.h"
#include "model/error.h"
#include "model/lasting_state.pb.h"
#include "store/loaded_rows.h"
#include "text/hex.h"

namespace minke::engine {

namespace {

constexpr size_t kKeyBytes = 16;
constexpr size_t kMostOfUser = 200;
constexpr size_t kMostBytesOfUser = 256 * 1024;
constexpr size_t kLargestReply = 64 * 1024;  // failures of very many jobs: who asks again is told anew
constexpr int64_t kKept = 3600;              // s
constexpr size_t kUsualRow = 128;            // bytes of one whose answer says "done", and more

}  // namespace

void AnsweredRequests::restore(store::LoadedRows& rows) {
  std::vector<model::AnsweredRequest> known = rows.read(store::kAnswers);
  std::stable_sort(known.begin(), known.end(),
                   [](const auto& one, const auto& other) { return one.time() < other.time(); });
  for (model::AnsweredRequest& row : known) add(std::move(row));
  forget_old();
}

Result<std::optional<api::ActionReply>> AnsweredRequests::find(const std::string& key, uint32_t uid) const {
  if (key.empty()) return std::optional<api::ActionReply>();
  if (key.size() != kKeyBytes) return failure("a request's key has 16 bytes", model::kInternal);
  const auto of_user = users_.find(uid);
  if (of_user == users_.end()) return std::optional<api::ActionReply>();
  const std::string digits = text::to_hex(key);
  const auto& answers = of_user->second.answers;
  const auto known = std::find_if(answers.rbegin(), answers.rend(),
                                  [&](const model::AnsweredRequest& row) { return row.key() == digits; });
  api::ActionReply reply;
  if (known == answers.rend() || !reply.ParseFromString(known->reply()))
    return std::optional<api::ActionReply>();
  return std::optional(std::move(reply));
}

Status AnsweredRequests::pay(const std::string& key, uint32_t uid) {
  if (key.empty()) return {};
  return core_.rights->budgets().spend(uid, config::Budget::kStoredBytes, kUsualRow, core_.now());
}

void AnsweredRequests::note(const std::string& key, uint32_t uid, const api::ActionReply& reply) {
  if (key.empty() || reply.ByteSizeLong() > kLargestReply) return;
  model::AnsweredRequest row;
  row.set_key(text::to_hex(key));
  row.set_uid(uid);
  row.set_time(core_.now());
  row.set_reply(reply.SerializeAsString());
  if (row.ByteSizeLong() > kUsualRow) {
    const Status paid = core_.rights->budgets().spend(uid, config::Budget::kStoredBytes,
                                                      row.ByteSizeLong() - kUsualRow, core_.now());
    if (!paid) return;
  }
  forget(users_[uid], row.key());  // it was sent again before it was done
  core_.committer.row_changed(store::kAnswers.row(row));
  add(std::move(row));
  forget_old();
}

void AnsweredRequests::add(model::AnsweredRequest row) {
  OfUser& user = users_[row.uid()];
  user.bytes += row.ByteSizeLong();
  user.answers.push_back(std::move(row));
}

void AnsweredRequests::forget(OfUser& user, const std::string& digits) {
  const auto same = std::find_if(user.answers.begin(), user.answers.end(),
                                 [&](const auto& row) { return row.key() == digits; });
  if (same == user.answers.end()) return;
  user.bytes -= same->ByteSizeLong();
  user.answers.erase(same);
}

void AnsweredRequests::forget_old() {
  const int64_t oldest = core_.now() - kKept;
  for (auto& [uid, user] : users_) {
    const auto too_much = [&user = user, oldest] {
      return user.answers.size() > kMostOfUser || user.bytes > kMostBytesOfUser ||
             user.answers.front().time() < oldest;
    };
    while (!user.answers.empty() && too_much()) {
      const model::AnsweredRequest& first = user.answers.front();
      core_.committer.row_changed(store::kAnswers.no_row(store::ByUserAndKey::of(first)));
      user.bytes -= first.ByteSizeLong();
      user.answers.pop_front();
    }
  }
  std::erase_if(users_, [](const auto& of_user) { return of_user.second.answers.empty(); });
}

}  // namespace minke::engine
