// The words that scontrol takes as its commands, and the function of each.
#include "cli/scontrol/commands.h"
#include "cli/version_line.h"
#include "model/error.h"
#include "text/nearest.h"
#include "text/number.h"
#include "view/output.h"

namespace minke::cli {

// Finds the first one that the word abbreviates, with at least `shortest` letters, in any case.
struct Scontrol::Verb {
  std::string_view name;
  size_t shortest;
  size_t least, most;  // arguments
  int (*run)(Scontrol& scontrol, const Words& words);
};

namespace {

constexpr size_t kAny = SIZE_MAX;

// Slurm's keywords that this cluster has no use for: known, but refused, in the name of the call that would
// do it.
struct Refused {
  std::string_view keyword, call;
  int code = model::kDisabled;
};
constexpr Refused kRefused[] = {
    {"cancel_reboot", "slurm_update", model::kInvalidNodeState},  // no node waits for a reboot
    {"fsdampeningfactor", "slurm_fsdampeningfactor"},
    {"power", "scontrol_power_nodes"},
    {"reboot_nodes", "scontrol_reboot_nodes"},
    {"reboot", "scontrol_reboot_nodes"},
    {"schedloglevel", "slurm_set_schedlog_level"},
    {"takeover", "slurm_takeover"},
};

// Settings of several clusters, which do not exist, and of the fixed log level.
int ignore(Scontrol&, const std::vector<std::string>&) {
  return 0;
}

int tell_version(Scontrol&, const std::vector<std::string>&) {
  view::write_out(version_line());
  return 0;
}

bool shortens(const std::string& word, std::string_view name, size_t shortest) {
  return word.size() >= shortest && text::starts_with_ignoring_case(name, word);
}

}  // namespace

const Scontrol::Verb Scontrol::kVerbs[] = {
    {"all", 1, 0, kAny, [](Scontrol& its, const Words&) { return its.set_all(true), 0; }},
    {"hide", 2, 0, kAny, [](Scontrol& its, const Words&) { return its.set_all(false), 0; }},
    {"local", 3, 0, kAny, ignore},
    {"federation", 3, 0, kAny, ignore},
    {"sibling", 3, 0, kAny, ignore},
    {"verbose", 4, 0, kAny, [](Scontrol& its, const Words&) { return its.verbose_ = true, 0; }},
    {"details", 1, 0, kAny, [](Scontrol& its, const Words&) { return its.options_.details = true, 0; }},
    {"oneliner", 1, 0, kAny, [](Scontrol& its, const Words&) { return its.options_.one_line = true, 0; }},
    {"quiet", 4, 0, kAny, [](Scontrol& its, const Words&) { return its.quiet_ = true, 0; }},
    {"hold", 4, 1, kAny,
     [](Scontrol& its, const Words& words) { return its.change_hold(words, api::HoldRequest::HOLD); }},
    {"uhold", 2, 1, kAny,
     [](Scontrol& its, const Words& words) { return its.change_hold(words, api::HoldRequest::USER_HOLD); }},
    {"holdu", 5, 1, kAny,
     [](Scontrol& its, const Words& words) { return its.change_hold(words, api::HoldRequest::USER_HOLD); }},
    {"release", 3, 1, kAny,
     [](Scontrol& its, const Words& words) { return its.change_hold(words, api::HoldRequest::RELEASE); }},
    {"ping", 3, 0, 0, [](Scontrol& its, const Words&) { return its.ping(); }},
    {"token", 3, 0, kAny, [](Scontrol& its, const Words& words) { return its.tell_token(words); }},
    {"reconfigure", 3, 0, 0, [](Scontrol& its, const Words&) { return its.reconfigure(); }},
    {"requeue", 3, 1, kAny, [](Scontrol& its, const Words& words) { return its.requeue(words, false); }},
    {"requeuehold", 8, 1, kAny, [](Scontrol& its, const Words& words) { return its.requeue(words, true); }},
    {"show", 3, 1, kAny, [](Scontrol& its, const Words& words) { return its.show(words); }},
    {"update", 1, 0, kAny, [](Scontrol& its, const Words& words) { return its.update(words); }},
    {"create", 1, 0, kAny, [](Scontrol& its, const Words& words) { return its.create(words); }},
    {"delete", 1, 0, kAny, [](Scontrol& its, const Words& words) { return its.remove(words); }},
    {"version", 4, 0, kAny, tell_version},
    {"wait_job", 4, 1, 1, [](Scontrol& its, const Words& words) { return its.wait_job(words[1]); }},
    {"write", 5, 1, kAny, [](Scontrol& its, const Words& words) { return its.write(words); }},
    {"suspend", 2, 1, kAny, [](Scontrol& its, const Words& words) { return its.suspend(words, false); }},
    {"resume", 3, 1, kAny, [](Scontrol& its, const Words& words) { return its.suspend(words, true); }},
    {"top", 3, 1, 1, [](Scontrol& its, const Words& words) { return its.top(words); }},
    {"notify", 1, 2, kAny, [](Scontrol& its, const Words& words) { return its.notify(words); }},
    {"pidinfo", 3, 0, kAny, [](Scontrol& its, const Words& words) { return its.tell_process(words); }},
    {"listpids", 1, 0, 2,
     [](Scontrol& its, const Words& words) { return its.list_processes(words.size() > 1 ? words[1] : "*"); }},
    {"listjobs", 5, 0, 1, [](Scontrol& its, const Words& words) { return its.list_steps(words, true); }},
    {"liststeps", 5, 0, 1, [](Scontrol& its, const Words& words) { return its.list_steps(words, false); }},
    {"getent", 4, 0, 1, [](Scontrol& its, const Words& words) { return its.list_accounts(words); }},
    {"getaddrs", 4, 0, kAny, [](Scontrol& its, const Words& words) { return its.tell_addresses(words); }},
    {"completing", 2, 0, 0, [](Scontrol& its, const Words&) { return its.show_completing(); }},
    {"shutdown", 8, 0, 1, [](Scontrol& its, const Words& words) { return its.shut_down(words); }},
    {"cluster", 2, 0, kAny, ignore},
    {"errnumstr", 2, 1, kAny, [](Scontrol& its, const Words& words) { return its.tell_error(words[1]); }},
    {"setdebugflags", 9, 1, kAny,
     [](Scontrol& its, const Words& words) { return its.set_debug_flags(words); }},
    {"setdebug", 5, 1, kAny, [](Scontrol& its, const Words& words) { return its.set_debug(words[1]); }},
};

int Scontrol::run(const Words& words) {
  const std::string& word = words[0];
  const size_t arguments = words.size() - 1;
  for (const Verb& verb : kVerbs) {
    if (!shortens(word, verb.name, verb.shortest)) continue;
    if (arguments < verb.least)
      return complain("too few arguments for keyword:" + word + " (scontrol --help lists what each takes)");
    if (arguments > verb.most) return complain("too many arguments for keyword:" + word);
    return verb.run(*this, words);
  }
  for (const Refused& refused : kRefused)
    if (text::equals_ignoring_case(word, refused.keyword))
      return complain(std::string(refused.call) +
                      " error: " + std::string(model::slurm_error_text(refused.code)));
  for (const std::string_view of_scancel : {"cancel", "kill", "stop"})
    if (text::equals_ignoring_case(word, of_scancel))
      return complain("invalid keyword: " + word + " (to end a job: scancel JOB)");
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  const std::string_view meant = text::nearest(word, names);
  return complain("invalid keyword: " + word +
                  (meant.empty() ? "" : " (did you mean " + std::string(meant) + "?)"));
}

}  // namespace minke::cli
