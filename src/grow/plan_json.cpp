// A plan as the journal keeps it.
#include <nlohmann/json.hpp>

#include "grow/plan.h"

namespace minke::grow {
namespace {

using nlohmann::json;

std::string word(const json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

struct TextMember {
  const char* name;
  std::string Step::*member;
};
constexpr TextMember kTexts[] = {
    {"id", &Step::id},         {"host", &Step::host},       {"what", &Step::what},
    {"why", &Step::why},       {"checked", &Step::checked}, {"undone", &Step::undone},
    {"action", &Step::action}, {"capture", &Step::capture}, {"script", &Step::script},
    {"check", &Step::check},   {"undo", &Step::undo},       {"send", &Step::send}};

json of(const Step& step) {
  json to;
  for (const TextMember& text : kTexts) to[text.name] = step.*text.member;
  to["inputs"] = json::array();
  for (const Input& input : step.inputs)
    to["inputs"].push_back({{"name", input.name}, {"script", input.script}});
  to["again"] = step.again;
  to["later"] = step.later;
  to["seconds"] = step.seconds;
  return to;
}

Step step_of(const json& from) {
  Step step;
  for (const TextMember& text : kTexts) step.*text.member = word(from, text.name);
  for (const json& input : from.value("inputs", json::array()))
    step.inputs.push_back({word(input, "name"), word(input, "script")});
  step.again = from.value("again", false);
  step.later = from.value("later", false);
  step.seconds = from.value("seconds", 120);
  return step;
}

}  // namespace

std::string kept_plan_json(const KeptPlan& plan) {
  json steps = json::array();
  for (const Step& step : plan.steps) steps.push_back(of(step));
  return json{{"version", 1},      {"hosts", plan.hosts},       {"names", plan.names},
              {"home", plan.home}, {"password", plan.password}, {"notes", plan.notes},
              {"steps", steps}}
             .dump(1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

Result<KeptPlan> parse_kept_plan(const std::string& text) {
  const json from = json::parse(text, nullptr, false);
  if (!from.is_object() || from.value("version", json()) != 1)
    return failure("the plan that is under way cannot be read");
  try {
    KeptPlan plan;
    plan.hosts = from.at("hosts").get<std::vector<std::string>>();
    plan.names = from.at("names").get<std::vector<std::string>>();
    plan.home = word(from, "home");
    plan.password = word(from, "password");
    plan.notes = from.at("notes").get<std::vector<std::string>>();
    for (const json& step : from.at("steps")) plan.steps.push_back(step_of(step));
    return plan;
  } catch (const json::exception& problem) {
    return failure(std::string("the plan that is under way cannot be read: ") + problem.what());
  }
}

}  // namespace minke::grow
