#include <fmt/format.h>

#include <algorithm>

#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/matching.h"
#include "model/accounts.pb.h"
#include "text/number.h"

namespace minke::cli {

int add_qos(AccountingSession& session, const Words& words) {
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto names = names_in(given, "qos");
  if (names.empty()) return refuse(" Need name of qos to add.");
  model::QosRecord pattern;
  for (const Word& word : given) {
    if (word.name.empty() || word.name == "name" || word.name == "qos") continue;
    const auto done = set_qos(pattern, word, session.book());
    if (!done) return refuse(done.error().message);
    if (!*done) return refuse(" Unknown option: " + word.text);
  }
  std::string added;
  for (const std::string& name : names) {
    if (session.book().qos(name) != nullptr) continue;
    model::QosRecord& record = session.change.qos.emplace_back(pattern);
    record.set_id(0);
    record.set_name(name);
    if (record.description().empty()) record.set_description(name);
    added += "  " + name + "\n";
  }
  if (added.empty()) {
    return session.nothing("new added.");
  }
  // Each of several new QOS gets an id of its own.
  uint32_t next = session.book().qos().rbegin()->first;
  for (model::QosRecord& record : session.change.qos) record.set_id(++next);
  session.say(" Adding QOS(s)\n" + added + " Settings\n" + settings_text(session.change.qos.back()));
  return session.commit();
}

int modify_qos(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  const auto names = names_in(words.where, "qos");
  std::string text;
  for (const auto& [id, one] : session.book().qos()) {
    if (!names.empty() && !contains(names, one.name())) continue;
    model::QosRecord record = one;
    for (const Word& word : words.set) {
      if (word.name == "rawusage") {
        session.reset_qos_usage.push_back(id);
        continue;
      }
      const auto done = set_qos(record, word, session.book());
      if (!done) return refuse(done.error().message);
      if (!*done)
        return refuse(" Unknown option: " + word.text + "\n Use keyword 'where' to modify condition");
    }
    text += "  " + one.name() + "\n";
    session.change.qos.push_back(std::move(record));
  }
  if (text.empty()) return session.nothing("modified");
  session.say(" Modified qos...\n" + text);
  return session.commit();
}

int delete_qos(AccountingSession& session, const Words& words) {
  const auto names = names_in(words.where, "qos");
  if (names.empty()) return refuse(" No conditions given to remove, not executing.");
  std::string text;
  for (const std::string& name : names) {
    const model::QosRecord* record = session.book().qos(name);
    if (record == nullptr || record->id() == accounts::kNormalQos) continue;
    session.change.removed_qos.push_back(record->id());
    text += "  " + name + "\n";
  }
  if (text.empty()) return session.nothing("deleted");
  session.say(" Deleting QOS(s)...\n" + text);
  return session.commit();
}

}  // namespace minke::cli
