#include "grow/applying.h"

#include <cerrno>
#include <iterator>
#include <map>

#include "grow/host.h"
#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::grow {
namespace {

constexpr std::chrono::seconds kWithoutEnd{7 * 86'400};

std::string set(const std::string& name, const std::string& value) {
  return name + "=" + text::shell_quoted(value) + "\n";
}

std::string place(const Step& step) {
  return step.host.empty() ? "" : step.host + ": ";
}

}  // namespace

Result<std::string> Applying::run(const Step& step, const std::string& host, const std::string& script,
                                  const std::string& variables) {
  HostOptions options;
  options.timeout = step.seconds == 0 ? kWithoutEnd : std::chrono::seconds(step.seconds);
  auto said = run_on_host(host, std::string(script_prelude()) + set("home", plan_.home) + variables + script,
                          options);
  if (!said) return failure(said.error());
  if (said->exit_code != 0) return failure(step.id + ": " + host_words(host) + ": " + said->words());
  return std::move(said->output);
}

Result<std::string> Applying::inputs_of(const Step& step) {
  std::string variables;
  for (const Input& input : step.inputs) {
    const auto value = run(step, "", input.script, "");
    if (!value) return value;
    variables += set(input.name, std::string(text::trim(*value)));
  }
  return variables;
}

Status Applying::check(const Step& step) {
  if (step.check.empty()) return {};
  const auto inputs = inputs_of(step);
  if (!inputs) return failure(inputs.error());
  const auto good = run(step, step.host, step.check, *inputs);
  return good ? Status() : failure(good.error());
}

Status Applying::send(const Step& step) {
  if (step.send.empty()) return {};
  const auto sum = run(step, "", "sha256sum <" + text::shell_quoted(step.send) + " | cut -c 1-64", "");
  if (!sum) return failure(sum.error());
  const auto said = send_program(step.host, step.send, kProgramThere, std::string(text::trim(*sum)),
                                 std::chrono::seconds(step.seconds));
  if (!said) return failure(said.error());
  return said->exit_code == 0 ? Status()
                              : failure(step.id + ": " + host_words(step.host) + ": " + said->words());
}

Status Applying::apply_step(const Step& step) {
  const StepRecord record = journal_.step(step.id);
  if (record.state == StepState::kDone) {
    if (!step.again || check(step)) return {};
    tell_(place(step) + step.id + ": once more, because its check fails now");
  } else {
    tell_(place(step) + step.id + ": " + step.what);
  }
  if (record.state == StepState::kNew || record.state == StepState::kUndone) {
    std::string before;
    if (!step.capture.empty()) {
      auto captured = run(step, step.host, step.capture, "");
      if (!captured) return failure(captured.error());
      before = std::move(*captured);
    }
    if (const Status begun = journal_.begin(step.id, before); !begun) return begun;
  }
  if (!step.action.empty()) {
    const auto action = actions_.find(step.action);
    if (action == actions_.end()) return failure(step.id + ": this minke does not know how to do it");
    if (const Status done = action->second(); !done)
      return failure(step.id + ": " + done.error().message, done.error().code);
  }
  if (const Status sent = send(step); !sent) return sent;
  if (!step.script.empty()) {
    const auto inputs = inputs_of(step);
    if (!inputs) return failure(inputs.error());
    const auto done = run(step, step.host, step.script, *inputs);
    if (!done) return failure(done.error());
    constexpr std::string_view kNote = "note: ";  // what a script could not do, and goes on without
    for (const std::string_view line : text::split(*done, '\n'))
      if (line.starts_with(kNote)) tell_("  " + std::string(line.substr(kNote.size())));
  }
  if (const Status good = check(step); !good) return good;
  return journal_.done(step.id);
}

Status Applying::apply(bool later) {
  for (const Step& step : plan_.steps)
    // Who does the later steps has found the others done, and does not start himself again.
    if (later ? journal_.step(step.id).state != StepState::kDone : !step.later)
      if (const Status done = apply_step(step); !done) return done;
  return {};
}

Status Applying::undo_step(const Step& step, bool discard) {
  const StepRecord record = journal_.step(step.id);
  if (record.state != StepState::kBegun && record.state != StepState::kDone) return {};
  if (!step.undo.empty()) {
    tell_(place(step) + step.id + ": " + step.undone);
    const auto undone = run(step, step.host, step.undo,
                            set("before", record.before) + set("discard", discard ? "yes" : "no"));
    if (!undone) return failure(undone.error());
  }
  return journal_.undone(step.id);
}

Status Applying::undo_all(bool discard, bool gone) {
  std::map<std::string, std::string> left;  // of hosts that cannot be reached: the steps there
  std::string why;
  for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step) {
    const StepState state = journal_.step(step->id).state;
    if (state != StepState::kBegun && state != StepState::kDone) continue;
    const auto unreached = left.find(step->host);
    if (unreached == left.end()) {
      const Status undone = undo_step(*step, discard);
      if (undone) continue;
      const int code = undone.error().code;
      if (step->host.empty() || (code != EHOSTUNREACH && code != ETIMEDOUT)) return undone;
      tell_(undone.error().message);
      why = undone.error().message;
    }
    std::string& steps = left[step->host];
    steps += (steps.empty() ? "" : ", ") + step->id;
    if (gone)
      if (const Status given_up = journal_.undone(step->id); !given_up) return given_up;
  }
  if (left.empty()) return {};
  std::string words;
  for (const auto& [host, steps] : left)
    words += (words.empty() ? "" : "; ") + ("on " + host + " this is left: " + steps);
  if (gone) {
    tell_(words);
    return {};
  }
  return failure(why + "; all other machines are as before; " + words +
                     ". Say it again when it can be reached, or with --gone to leave it so",
                 EHOSTUNREACH);
}

}  // namespace minke::grow
