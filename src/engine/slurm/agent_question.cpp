#include "engine/slurm/agent_question.h"

#include <vector>

#include "model/cluster.pb.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

std::string value_of(const api::ConfigReply& configuration, std::string_view name) {
  for (const api::Field& one : configuration.values()) {
    if (one.name() == name) return one.value();
  }
  return {};
}

// "root(0)": whose agents are believed.
void add_user(const std::string& words, std::vector<uint32_t>& users) {
  const size_t open = words.rfind('(');
  if (open == std::string::npos || !words.ends_with(')')) return;
  const auto uid =
      text::parse_unsigned(std::string_view(words).substr(open + 1, words.size() - open - 2), 0xfffffffe);
  if (uid) users.push_back(static_cast<uint32_t>(*uid));
}

}  // namespace

std::optional<AgentQuestion> agent_question(const api::ConfigReply& configuration, uint16_t port) {
  if (port == 0 || value_of(configuration, "AuthType") != "auth/munge") return std::nullopt;
  AgentQuestion question{.addresses = {}, .port = port, .trusted = {0}};
  add_user(value_of(configuration, "SlurmUser"), question.trusted);
  add_user(value_of(configuration, "SlurmdUser"), question.trusted);
  return question;
}

// "socket=/run/munge/socket,ttl=60"
std::string munge_socket_of(const api::ConfigReply& configuration) {
  const std::string words = value_of(configuration, "AuthInfo");
  for (const std::string_view word : text::split(words, ',')) {
    if (word.starts_with("socket=")) return std::string(word.substr(7));
  }
  return {};
}

// "head(10.0.0.1)", or "head".
std::string head_address_of(const api::ConfigReply& configuration) {
  const std::string words = value_of(configuration, "SlurmctldHost[0]");
  const size_t open = words.find('(');
  if (open == std::string::npos || !words.ends_with(')')) return words;
  return words.substr(open + 1, words.size() - open - 2);
}

}  // namespace minke::engine::slurm
