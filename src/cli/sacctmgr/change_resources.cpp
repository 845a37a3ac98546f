// sacctmgr on resources that clusters share, such as the licences of a server: this cluster's share of one
// becomes its licences NAME@SERVER.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/matching.h"
#include "model/accounts.pb.h"
#include "text/number.h"

namespace minke::cli {
namespace {

using model::ResourceRecord;

struct ResourceSettings {
  std::string server;
  std::optional<std::string> description, server_type;
  std::optional<uint32_t> count, percent;
  bool typed = false;
};

Result<uint32_t> number_of(const Word& word, uint32_t most) {
  const auto value = text::parse_unsigned(word.value, most);
  if (!value) return failure(" Bad value " + word.value + " for " + word.name);
  return static_cast<uint32_t>(*value);
}

Status read(std::span<const Word> words, ResourceSettings& settings) {
  for (const Word& word : words) {
    if (word.name == "server") {
      settings.server = word.value;
    } else if (word.name == "description") {
      settings.description = word.value;
    } else if (word.name == "servertype") {
      settings.server_type = word.value;
    } else if (word.name == "type") {
      if (!text::starts_with_ignoring_case("license", word.value) || word.value.empty())
        return failure(" Unknown resource type: '" + word.value + "'  Valid options are License.");
      settings.typed = true;
    } else if (word.name == "count") {
      const auto value = number_of(word, 0x7fffffff);
      if (!value) return failure(value.error());
      settings.count = *value;
    } else if (word.name == "percentallowed") {
      const auto value = number_of(word, 100);
      if (!value) return failure(value.error());
      settings.percent = *value;
    } else if (!word.name.empty() && !is_one_of(word, {"name", "resource", "cluster", "id"})) {
      return failure(unknown_option(word));
    }
  }
  return {};
}

uint32_t percent_used(const ResourceRecord& record) {
  uint32_t sum = 0;
  for (const auto& share : record.shares()) sum += share.percent();
  return sum;
}

ResourceRecord::Share* share_of(ResourceRecord& record, const std::string& cluster) {
  for (auto& share : *record.mutable_shares()) {
    if (share.cluster() == cluster) return &share;
  }
  return nullptr;
}

// "10" and "10%" mean the same.
std::vector<Word> without_percent_signs(std::span<const Word> words) {
  std::vector<Word> plain(words.begin(), words.end());
  for (Word& word : plain) {
    if (word.name == "percentallowed" && word.value.ends_with('%')) word.value.pop_back();
  }
  return plain;
}

std::string cluster_line(const AccountingSession& session, const ResourceRecord& record,
                         const std::string& cluster) {
  return "  Cluster - " + session.cluster_name(cluster) + "\t- " + accounts::resource_key(record) + "\n";
}

std::vector<const ResourceRecord*> chosen(const AccountingSession& session, std::span<const Word> where) {
  const auto names = names_in(where, "resource"), servers = list_of(where, "server");
  std::vector<const ResourceRecord*> found;
  for (const auto& [key, record] : session.book().resources()) {
    if (!names.empty() && !contains(names, record.name()) && !contains(names, key)) continue;
    if (!servers.empty() && !contains(servers, record.server())) continue;
    found.push_back(&record);
  }
  return found;
}

std::string settings_lines(const std::string& name, const ResourceSettings& settings) {
  std::string text = " Settings\n";
  const auto line = [&](std::string_view title, const std::string& value) {
    text += fmt::format("  {:<15}= {}\n", title, value);
  };
  if (settings.count) line("Name", name);
  line("Server", settings.server);
  if (settings.count) line("Description", settings.description.value_or(name));
  if (settings.server_type) line("ServerType", *settings.server_type);
  if (settings.count) line("Count", std::to_string(*settings.count));
  line("Type", "License");
  return text;
}

}  // namespace

int add_resource(AccountingSession& session, const Words& words) {
  std::vector<Word> given = without_percent_signs(words.where);
  given.insert(given.end(), words.set.begin(), words.set.end());
  ResourceSettings settings;
  if (const Status done = read(given, settings); !done) return refuse(done.error().message);
  if (settings.server.empty()) settings.server = "slurmdb";
  const auto names = names_in(given, "resource");
  if (names.empty()) return refuse(" Need name of resource to add.");
  std::vector<std::string> clusters;
  if (!list_of(given, "cluster").empty()) {
    const auto known = session.clusters_of(given);
    if (!known) return refuse(known.error().message);
    clusters = *known;
  }
  std::string text;
  for (const std::string& name : names) {
    ResourceRecord record;
    record.set_name(name);
    record.set_server(text::lower_case(settings.server));
    const auto before = session.book().resources().find(accounts::resource_key(record));
    const bool is_new = before == session.book().resources().end();
    if (!is_new) {
      record = before->second;
    } else {
      if (!settings.typed)
        return refuse(" Need to designate a resource type to initially add '" + name + "'.");
      if (!settings.count)
        return refuse(" Need to designate a resource count to initially add '" + name + "'.");
      record.set_count(*settings.count);
      record.set_description(settings.description.value_or(name));
      record.set_server_type(settings.server_type.value_or(""));
    }
    std::string lines;
    const uint32_t percent = settings.percent.value_or(0);
    const uint64_t sum = percent_used(record) + uint64_t{percent} * clusters.size();
    if (sum > 100)
      return refuse(
          fmt::format(" Adding this {} clusters to resource {} at {}% each , with {}% already used,  would "
                      "go over 100%.  Please redo your math and resubmit.",
                      clusters.size(), accounts::resource_key(record), percent, percent_used(record)));
    for (const std::string& cluster : clusters) {
      if (share_of(record, cluster) != nullptr) continue;
      auto& share = *record.add_shares();
      share.set_cluster(cluster);
      share.set_percent(percent);
      lines += fmt::format("   Cluster - {}\t{}%\n", session.cluster_name(cluster), percent);
    }
    if (!is_new && lines.empty()) continue;
    text += "  " + accounts::resource_key(record) + "\n" + lines;
    session.change.resources.push_back(std::move(record));
  }
  if (text.empty()) return session.nothing("new added.");
  session.say(" Adding Resource(s)\n" + text + settings_lines(names.front(), settings));
  return session.commit();
}

int modify_resource(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  ResourceSettings settings;
  if (const Status done = read(without_percent_signs(words.set), settings); !done)
    return refuse(done.error().message);
  const auto named = list_of(words.where, "cluster");
  const auto clusters = session.clusters_of(words.where);
  if (!clusters) return refuse(clusters.error().message);
  std::string text;
  for (const ResourceRecord* one : chosen(session, words.where)) {
    ResourceRecord record = *one;
    if (settings.count) record.set_count(*settings.count);
    if (settings.description) record.set_description(*settings.description);
    if (settings.server_type) record.set_server_type(*settings.server_type);
    std::string lines;
    for (auto& share : *record.mutable_shares()) {
      if (!named.empty() && !contains(*clusters, share.cluster())) continue;
      if (settings.percent) share.set_percent(*settings.percent);
      lines += cluster_line(session, record, share.cluster());
    }
    if (percent_used(record) > 100)
      return refuse(" You asked for more than 100% of " + accounts::resource_key(record) + ".");
    if (!named.empty() && lines.empty()) continue;
    if (named.empty()) lines = "  " + accounts::resource_key(record) + "\n" + lines;
    text += lines;
    session.change.resources.push_back(std::move(record));
  }
  if (text.empty()) return session.nothing("modified");
  session.say(" Modified server resource ...\n" + text);
  return session.commit();
}

int delete_resource(AccountingSession& session, const Words& words) {
  if (words.where.empty()) return refuse(" No conditions given to remove, not executing.");
  const auto clusters = session.clusters_of(words.where);
  if (!clusters) return refuse(clusters.error().message);
  const bool of_clusters = !list_of(words.where, "cluster").empty();
  std::string text;
  for (const ResourceRecord* one : chosen(session, words.where)) {
    if (!of_clusters) {
      session.change.removed_resources.push_back(accounts::resource_key(*one));
      text += "  " + accounts::resource_key(*one) + "\n";
    }
    ResourceRecord record = *one;
    record.clear_shares();
    for (const auto& share : one->shares()) {
      if (of_clusters && !contains(*clusters, share.cluster())) {
        *record.add_shares() = share;
      } else {
        text += cluster_line(session, *one, share.cluster());
      }
    }
    if (of_clusters && record.shares_size() < one->shares_size())
      session.change.resources.push_back(std::move(record));
  }
  if (text.empty()) return session.nothing("deleted");
  session.say(" Deleting resource(s)...\n" + text);
  return session.commit();
}

}  // namespace minke::cli
