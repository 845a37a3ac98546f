#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/version.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/matching.h"
#include "model/accounts.pb.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {
namespace {

// What Slurm says of a word that a QOS does not take, or takes no such value for.
int refuse_setting(const Word& word, const Result<bool>& done) {
  if (!done && done.error().code != kToldAsAnswer) {
    const std::string& problem = done.error().message;
    const std::string told = problem.substr(0, problem.find("\n Unknown option: "));
    return refuse(done.error().code == kBadNumber ? told + "\n You didn't give me anything to set" : told);
  }
  view::write_out((done ? unknown_option(word) : done.error().message) + "\n");
  return 1;
}

// Whether the jobs of a QOS would preempt, over others, jobs of its own.
bool preempts_itself(const accounts::AccountBook& book, const model::QosRecord& changed) {
  std::set<std::string> reached;
  std::vector<std::string> next(changed.preempt().begin(), changed.preempt().end());
  while (!next.empty()) {
    const std::string name = next.back();
    next.pop_back();
    if (name == changed.name()) return true;
    if (!reached.insert(name).second) continue;
    if (const model::QosRecord* one = book.qos(name); one != nullptr)
      next.insert(next.end(), one->preempt().begin(), one->preempt().end());
  }
  return false;
}

}  // namespace

int add_qos(AccountingSession& session, const Words& words) {
  std::vector<Word> given = words.where;
  given.insert(given.end(), words.set.begin(), words.set.end());
  const auto names = names_in(given, "qos");
  if (names.empty()) return refuse(" Need name of qos to add.");
  model::QosRecord pattern;
  for (const Word& word : given) {
    if (word.name.empty() || word.name == "name" || word.name == "qos") continue;
    const auto done = set_qos(pattern, word, session.book());
    if (!done || !*done) return refuse_setting(word, done);
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
  for (const Word& word : words.where) {
    if (!word.name.empty() && !is_one_of(word, {"name", "qos", "description", "id"}))
      return refuse(unknown_condition(word));
  }
  const auto names = names_in(words.where, "qos"), ids = list_of(words.where, "id"),
             descriptions = list_of(words.where, "description");
  std::string text;
  for (const auto& [id, one] : session.book().qos()) {
    if (!names.empty() && !contains(names, one.name())) continue;
    if (!ids.empty() && !contains(ids, std::to_string(id))) continue;
    if (!descriptions.empty() && !contains(descriptions, text::lower_case(one.description()))) continue;
    model::QosRecord record = one;
    for (const Word& word : words.set) {
      if (word.name == "rawusage") {
        session.reset_qos_usage.push_back(id);
        continue;
      }
      if (word.name == "name") return refuse(" You didn't give me anything to set");
      const auto done = set_qos(record, word, session.book());
      if (!done || !*done) return refuse_setting(word, done);
    }
    if (preempts_itself(session.book(), record))
      return refuse(
          "sacctmgr: error: QOS Preemption loop detected\n Error with request: QOS Preemption loop detected");
    text += "  " + one.name() + "\n";
    session.change.qos.push_back(std::move(record));
  }
  if (text.empty()) return session.nothing_there("modified");
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
  if (text.empty()) return session.nothing_there("deleted");
  session.say(" Deleting QOS(s)...\n" + text);
  return session.commit();
}

}  // namespace minke::cli
