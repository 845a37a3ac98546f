#include "cli/software_requests.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/actions.pb.h"
#include "api/software.pb.h"
#include "cli/complain.h"
#include "engine/open.h"
#include "text/printable.h"
#include "text/timestamp.h"
#include "view/text.h"

namespace minke::cli {

namespace {

using model::SoftwareRequest;

const char* name_of(SoftwareRequest::State state) {
  return state == SoftwareRequest::DONE ? "done" : state == SoftwareRequest::REFUSED ? "refused" : "open";
}

void print_json(const api::SoftwareReply& reply) {
  auto list = nlohmann::ordered_json::array();
  for (const SoftwareRequest& one : reply.requests()) {
    list.push_back({{"id", one.id()},
                    {"package", text::printable(one.package())},
                    {"user", view::user_name_of(one.uid())},
                    {"time", one.time()},
                    {"reason", text::printable(one.reason())},
                    {"state", name_of(one.state())},
                    {"answer", text::printable(one.answer())}});
  }
  std::puts(list.dump().c_str());
}

// Operators see what waits for them; `all`: what they answered, too. Everybody sees all of their own.
bool is_shown(const SoftwareRequest& one, bool all) {
  return all || one.state() == SoftwareRequest::OPEN || one.uid() == ::getuid();
}

void print(const api::SoftwareReply& reply, bool all) {
  bool titled = false;
  int hidden = 0;
  for (const SoftwareRequest& one : reply.requests()) {
    if (!is_shown(one, all)) {
      ++hidden;
      continue;
    }
    if (!titled) std::printf("%6s %-8s %-12s %-19s %s\n", "NUMBER", "STATE", "USER", "ASKED", "PACKAGE");
    titled = true;
    std::printf("%6u %-8s %-12s %-19s %s\n", one.id(), name_of(one.state()),
                text::printable(view::user_name_of(one.uid())).c_str(), text::format_time(one.time()).c_str(),
                text::printable(one.package()).c_str());
    if (!one.reason().empty()) std::printf("%6s reason: %s\n", "", text::printable(one.reason()).c_str());
    if (!one.answer().empty()) std::printf("%6s answer: %s\n", "", text::printable(one.answer()).c_str());
  }
  if (!titled) std::puts(hidden == 0 ? "nobody has asked for a package" : "no request waits for an answer");
  if (hidden > 0) std::printf("(%d answered: minke software requests --all)\n", hidden);
}

int show(engine::SoftwareAbility& ability, const SoftwareRequestsCommand& command) {
  const auto reply = ability.requested_software();
  if (!reply) return complain(reply.error());
  command.json ? print_json(*reply) : print(*reply, command.all);
  return 0;
}

}  // namespace

int software_request(const SoftwareRequestCommand& command) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  const auto ability = (*cluster)->software_requests();
  if (!ability) return complain(ability.error());
  if (command.package.empty()) return show(**ability, {});
  api::RequestSoftwareRequest request;
  request.set_package(command.package);
  request.set_reason(command.reason);
  const auto reply = (*ability)->request_software(request);
  if (!reply) return complain(reply.error());
  std::printf("Request %s: %s. The administrators see it; minke software requests shows their answer.\n",
              reply->created().c_str(), text::printable(command.package).c_str());
  return 0;
}

int software_requests(const SoftwareRequestsCommand& command) {
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error());
  const auto ability = (*cluster)->software_requests();
  if (!ability) return complain(ability.error());
  const uint32_t id = command.done + command.refused + command.again;
  if (id == 0) return show(**ability, command);
  api::AnswerSoftwareRequest answer;
  answer.set_id(id);
  answer.set_answer(command.answer);
  answer.set_state(command.done != 0      ? SoftwareRequest::DONE
                   : command.refused != 0 ? SoftwareRequest::REFUSED
                                          : SoftwareRequest::OPEN);
  const auto reply = (*ability)->answer_software(answer);
  return reply ? 0 : complain(reply.error());
}

}  // namespace minke::cli
