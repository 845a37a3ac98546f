#include "view/document/configuration.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>

#include "api/field.pb.h"
#include "api/machine.pb.h"

namespace minke::view {
namespace {

std::string value_of(const api::ConfigReply& config, std::string_view name) {
  const auto found = std::find_if(config.values().begin(), config.values().end(),
                                  [&](const api::Field& one) { return one.name() == name; });
  return found == config.values().end() || found->value() == "(null)" ? std::string() : found->value();
}

// The newest Slurm's words for what older ones say, as the table of scontrol does.
std::string_view word_of(const api::Field& one) {
  constexpr std::string_view kNamed[] = {"AuthType", "CredType"};  // whose "none" is a plugin
  constexpr std::tuple<std::string_view, std::string_view, std::string_view> kWords[] = {
      {"PreemptMode", "OFF", "DISABLED"},
      {"PropagatePrioProcess", "0", "off"},
      {"PropagatePrioProcess", "1", "on"},
      {"ReturnToService", "2", "all"}};
  const std::string_view value = one.value();
  for (const auto& [name, old, word] : kWords)
    if (one.name() == name && value == old) return word;
  const bool is_none = value.ends_with("/none") &&
                       std::find(std::begin(kNamed), std::end(kNamed), one.name()) == std::end(kNamed);
  return value == "(null)" || is_none ? std::string_view() : value;
}

// Writes all values; the document's shape knows which of them belong into this object, and as what.
void write_values(Document& document, const api::ConfigReply& config) {
  for (const api::Field& one : config.values()) document.text(one.name(), word_of(one));
}

// "root(0)"
void write_user(Document& document, const std::string& key, const std::string& user) {
  const size_t open = user.find('(');
  document.text(key, user.substr(0, open));
  if (open != std::string::npos) document.text(key + "Id", user.substr(open + 1));
}

// "host" or "host(address)"
void write_controllers(Document& document, const api::ConfigReply& config) {
  document.begin_array("controllers");
  if (const std::string host = value_of(config, "SlurmctldHost[0]"); !host.empty()) {
    const size_t open = host.find('(');
    const std::string machine = host.substr(0, open);
    document.begin_object();
    document.text("address",
                  open == std::string::npos ? machine : host.substr(open + 1, host.size() - open - 2));
    document.text("machine", machine);
    document.end();
  }
  document.end();
}

}  // namespace

void describe_configuration(Document& document, const api::ConfigReply& config) {
  document.begin_object("slurm_conf");
  for (const char* key : {"SlurmUser", "SlurmdUser"}) write_user(document, key, value_of(config, key));
  write_controllers(document, config);
  write_values(document, config);
  document.end();
  document.begin_object("slurm_conf_meta");
  document.integer("LastUpdate", config.now());
  write_values(document, config);
  document.end();
}

void describe_accounting_configuration(Document& document, const api::ConfigReply& config) {
  document.begin_object("slurmdbd_conf");
  document.text("DbdHost", "localhost");
  document.text("MaxQueryTimeRange", "UNLIMITED");
  for (const char* key : {"DebugLevel", "LogFile"})
    document.text(key, value_of(config, std::string("Slurmctld") +
                                            (std::string_view(key) == "LogFile" ? key : "Debug")));
  write_values(document, config);
  document.end();
}

}  // namespace minke::view
