#include "engine/embedded/watching/software_requests.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "api/software.pb.h"
#include "engine/embedded/accounts/rights.h"
#include "engine/embedded/core.h"
#include "engine/embedded/server/budgets.h"
#include "model/error.h"
#include "store/loaded_rows.h"
#include "store/tables.h"
#include "text/printable.h"

namespace minke::engine {

using model::SoftwareRequest;

namespace {

constexpr size_t kLongestPackage = 120;
constexpr size_t kLongestText = 1000;
constexpr int kMostOpen = 20;      // of one user
constexpr int kMostAnswered = 50;  // of one user
constexpr size_t kMostOfAll = 20000;

Status check_text(std::string_view what, std::string_view text, size_t most) {
  if (text.size() <= most) return {};
  return failure(std::string(what) + " has " + std::to_string(most) + " bytes at most", model::kNotSupported);
}

std::string clean(const std::string& text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
  const auto last = std::find_if_not(text.rbegin(), std::make_reverse_iterator(first), is_blank).base();
  return text::printable(std::string(first, last));
}

}  // namespace

void SoftwareRequests::restore(store::LoadedRows& rows) {
  for (SoftwareRequest& request : rows.read(store::kSoftwareRequests)) {
    next_id_ = std::max(next_id_, request.id() + 1);
    requests_.emplace(request.id(), std::move(request));
  }
}

Result<uint32_t> SoftwareRequests::ask(const api::RequestSoftwareRequest& request, uint32_t uid) {
  if (const Status good = check_text("a package's name", request.package(), kLongestPackage); !good)
    return failure(good.error());
  if (const Status good = check_text("a reason", request.reason(), kLongestText); !good)
    return failure(good.error());
  const std::string package = clean(request.package());
  if (package.empty()) return failure("name the package", model::kNotSupported);
  for (const auto& [id, known] : requests_) {
    if (known.uid() == uid && known.package() == package && known.state() == SoftwareRequest::OPEN) return id;
  }
  if (const Status room = make_room(uid); !room) return failure(room.error());
  if (const Status spent = core_.rights->budgets().spend(uid, Budget::kNotices, 1, core_.now()); !spent)
    return failure(spent.error());
  SoftwareRequest made;
  made.set_id(next_id_++);
  made.set_package(package);
  made.set_reason(clean(request.reason()));
  made.set_uid(uid);
  made.set_time(core_.now());
  keep(made);
  return made.id();
}

Status SoftwareRequests::make_room(uint32_t uid) {
  int open = 0, answered = 0;
  uint32_t oldest = 0;
  for (const auto& [id, request] : requests_) {
    if (request.uid() != uid) continue;
    if (request.state() == SoftwareRequest::OPEN) {
      ++open;
    } else {
      ++answered;
      if (oldest == 0) oldest = id;
    }
  }
  if (open >= kMostOpen)
    return failure("you have " + std::to_string(kMostOpen) +
                       " requests that wait for an answer, which is what one user may have",
                   model::kNotSupported);
  if (requests_.size() >= kMostOfAll && answered == 0)
    return failure("the list of requests is full; tell the administrators", ENOSPC);
  if (answered >= kMostAnswered || requests_.size() >= kMostOfAll) {
    core_.committer.row_changed(store::kSoftwareRequests.no_row(oldest));
    requests_.erase(oldest);
  }
  return {};
}

Status SoftwareRequests::answer(const api::AnswerSoftwareRequest& answer, uint32_t uid) {
  if (!core_.rights->is_operator(uid))
    return failure("only administrators answer requests for software", model::kAccessDenied);
  if (const Status good = check_text("an answer", answer.answer(), kLongestText); !good) return good;
  const auto found = requests_.find(answer.id());
  if (found == requests_.end())
    return failure("there is no request " + std::to_string(answer.id()), model::kNotSupported);
  if (!SoftwareRequest::State_IsValid(answer.state()))
    return failure("a request is open, done or refused", model::kNotSupported);
  SoftwareRequest changed = found->second;
  changed.set_state(answer.state());
  changed.set_answer(clean(answer.answer()));
  changed.set_answered_by(uid);
  changed.set_answer_time(core_.now());
  keep(changed);
  return {};
}

void SoftwareRequests::query(uint32_t uid, api::SoftwareReply& reply) const {
  const bool all = core_.rights->is_operator(uid);
  for (const auto& [id, request] : requests_) {
    if (all || request.uid() == uid) *reply.add_requests() = request;
  }
}

void SoftwareRequests::keep(const SoftwareRequest& request) {
  core_.committer.row_changed(store::kSoftwareRequests.row(request));
  requests_.insert_or_assign(request.id(), request);
}

}  // namespace minke::engine
