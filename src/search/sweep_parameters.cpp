#include "search/sweep_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

namespace minke::search {

namespace {

constexpr size_t kMaxNesting = 16;

// A distribution of W&B's: how its keys are read.
struct Form {
  const char* name;
  Distribution distribution;
  bool quantised = false;  // q, 1 if it is not given
  bool exponents = false;  // min and max are natural logarithms
  bool inverse = false;    // of 1/x: exponents change their sign
};
constexpr std::array<Form, 20> kForms = {{
    {"constant", Distribution::kConstant},
    {"categorical", Distribution::kCategorical},
    {"categorical_w_probabilities", Distribution::kCategorical},
    {"int_uniform", Distribution::kIntUniform},
    {"uniform", Distribution::kUniform},
    {"q_uniform", Distribution::kUniform, true},
    {"log_uniform", Distribution::kLogUniform, false, true},
    {"log_uniform_values", Distribution::kLogUniform},
    {"q_log_uniform", Distribution::kLogUniform, true, true},
    {"q_log_uniform_values", Distribution::kLogUniform, true},
    {"inv_log_uniform", Distribution::kLogUniform, false, true, true},
    {"inv_log_uniform_values", Distribution::kLogUniform},
    {"normal", Distribution::kNormal},
    {"q_normal", Distribution::kNormal, true},
    {"log_normal", Distribution::kLogNormal},
    {"q_log_normal", Distribution::kLogNormal, true},
    {"beta", Distribution::kBeta},
    {"q_beta", Distribution::kBeta, true},
    // Ours: integers, evenly by their logarithm.
    {"int_log_uniform", Distribution::kLogUniform},
    {"int_log_uniform_values", Distribution::kLogUniform},
}};

const std::vector<std::string> kKeys = {
    "distribution", "value", "values", "probabilities", "min", "max", "mu", "sigma", "a", "b", "q",
    "condition"};

// Parameters before their conditions are looked up.
struct Drafted {
  Parameter parameter;
  const YamlNode* condition = nullptr;
};

class Reader {
 public:
  Status read(const YamlNode& node, std::vector<std::string> path) {
    if (node.kind != YamlNode::Kind::kMap) return at_line(node.line, "parameters are a mapping of names");
    if (path.size() > kMaxNesting) return at_line(node.line, "parameters are nested too deeply");
    for (size_t i = 0; i < node.pairs.size(); ++i) {
      const auto& [name, value] = node.pairs[i];
      std::vector<std::string> inner = path;
      inner.push_back(name);
      if (name.empty()) return at_line(node.key_lines[i], "a parameter needs a name");
      if (value.kind != YamlNode::Kind::kMap)
        return at_line(value.line, "parameter " + name + ": write value: or values: below it");
      if (const YamlNode* nested = value.find("parameters")) {
        if (value.pairs.size() != 1)
          return at_line(value.line, "parameter " + name + ": beside parameters: there is nothing else");
        if (const Status read_it = read(*nested, inner); !read_it) return read_it;
        continue;
      }
      if (const Status one = read_one(value, inner, node.key_lines[i]); !one) return one;
    }
    return {};
  }

  // Those that others depend on come first; otherwise in the file's order.
  Result<Space> space() {
    Space space;
    std::map<std::string, size_t> places;
    std::vector<bool> added(drafts_.size(), false);
    for (size_t left = drafts_.size(); left > 0;) {
      const size_t before = left;
      for (size_t i = 0; i < drafts_.size(); ++i) {
        if (added[i] || !is_ready(drafts_[i], places)) continue;
        if (const Status known = look_up(drafts_[i], space, places); !known) return failure(known.error());
        const uint32_t line = drafts_[i].parameter.line;
        const std::string name = drafts_[i].parameter.name;
        if (const Status put = space.add(drafts_[i].parameter); !put)
          return at_line(line, put.error().message);
        places[name] = space.size() - 1;
        added[i] = true;
        --left;
      }
      if (left < before) continue;
      for (size_t i = 0; i < drafts_.size(); ++i) {
        if (!added[i])
          return at_line(drafts_[i].parameter.line,
                         "the condition of parameter " + drafts_[i].parameter.name + " leads back to itself");
      }
    }
    return space;
  }

 private:
  Status read_one(const YamlNode& node, const std::vector<std::string>& path, uint32_t line) {
    Drafted draft;
    Parameter& parameter = draft.parameter;
    parameter.path = path;
    parameter.line = line;
    for (const std::string& part : path) parameter.name += (parameter.name.empty() ? "" : ".") + part;
    for (size_t i = 0; i < node.pairs.size(); ++i) {
      const std::string& key = node.pairs[i].first;
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
        return at_line(node.key_lines[i],
                       "parameter " + parameter.name + ": unknown key " + key + instead_of(key, kKeys));
    }
    draft.condition = node.find("condition");
    const auto form = form_of(node, parameter.name);
    if (!form) return failure(form.error());
    parameter.distribution = (*form)->distribution;
    for (size_t i = 0; i < node.pairs.size(); ++i) {
      const std::string& key = node.pairs[i].first;
      const auto fitting = keys_of((*form)->distribution);
      if (key != "distribution" && key != "condition" &&
          std::find(fitting.begin(), fitting.end(), key) == fitting.end())
        return at_line(node.key_lines[i], "parameter " + parameter.name + ": " + key +
                                              " does not go with distribution " + (*form)->name);
    }
    const Status filled =
        parameter.is_category() ? read_values(node, parameter) : read_range(node, **form, parameter);
    if (!filled) return filled;
    drafts_.push_back(std::move(draft));
    return {};
  }

  // What says more of it. Who gives q to what has none is told so later.
  static std::vector<std::string_view> keys_of(Distribution distribution) {
    switch (distribution) {
      case Distribution::kConstant:
        return {"value"};
      case Distribution::kCategorical:
        return {"values", "probabilities"};
      case Distribution::kNormal:
      case Distribution::kLogNormal:
        return {"mu", "sigma", "q"};
      case Distribution::kBeta:
        return {"a", "b", "q"};
      default:
        return {"min", "max", "q"};
    }
  }

  static const Form* find_form(std::string_view name) {
    for (const Form& form : kForms) {
      if (form.name == name) return &form;
    }
    return nullptr;
  }

  // Without a distribution, W&B tells by what is given.
  static Result<const Form*> form_of(const YamlNode& node, const std::string& name) {
    if (const YamlNode* given = node.find("distribution")) {
      if (const Form* form = find_form(given->text)) return form;
      std::vector<std::string> known;
      for (const Form& form : kForms) known.emplace_back(form.name);
      return at_line(given->line, "parameter " + name + ": there is no distribution " + given->text +
                                      instead_of(given->text, known));
    }
    if (node.find("value") != nullptr) return find_form("constant");
    if (node.find("values") != nullptr) return find_form("categorical");
    if (node.find("mu") != nullptr || node.find("sigma") != nullptr) return find_form("normal");
    const YamlNode *low = node.find("min"), *high = node.find("max");
    if (low == nullptr || high == nullptr)
      return at_line(node.line, "parameter " + name + ": it needs value, values, or min and max");
    const bool whole =
        std::holds_alternative<int64_t>(low->value()) && std::holds_alternative<int64_t>(high->value());
    return find_form(whole ? "int_uniform" : "uniform");
  }

  static Status read_values(const YamlNode& node, Parameter& parameter) {
    const char* key = parameter.distribution == Distribution::kConstant ? "value" : "values";
    const YamlNode* given = node.find(key);
    if (given == nullptr)
      return at_line(node.line, "parameter " + parameter.name + ": " + key + " is missing");
    if (parameter.distribution == Distribution::kConstant) {
      parameter.values = {given->value()};
      return {};
    }
    if (given->kind != YamlNode::Kind::kList)
      return at_line(given->line, "parameter " + parameter.name + ": values are a list: [a, b]");
    for (const YamlNode& item : given->items) parameter.values.push_back(item.value());
    const YamlNode* shares = node.find("probabilities");
    if (shares == nullptr) return {};
    for (const YamlNode& item : shares->items) {
      const auto share = read_number(item, "a probability of " + parameter.name);
      if (!share) return failure(share.error());
      parameter.shares.push_back(*share);
    }
    if (parameter.shares.empty())
      return at_line(shares->line, "parameter " + parameter.name + ": probabilities are a list of numbers");
    return {};
  }

  static Status read_range(const YamlNode& node, const Form& form, Parameter& parameter) {
    const auto take = [&](const char* key, double& place, bool needed) -> Status {
      const YamlNode* given = node.find(key);
      if (given == nullptr && needed)
        return at_line(node.line, "parameter " + parameter.name + ": " + key + " is missing");
      if (given == nullptr) return {};
      const auto number = read_number(*given, std::string(key) + " of " + parameter.name);
      if (!number) return failure(number.error());
      place = *number;
      return {};
    };
    const bool beta = form.distribution == Distribution::kBeta;
    const bool range =
        !beta && form.distribution != Distribution::kNormal && form.distribution != Distribution::kLogNormal;
    Status taken = take(beta    ? "a"
                        : range ? "min"
                                : "mu",
                        range ? parameter.low : parameter.mu, range || beta);
    if (taken)
      taken = take(beta    ? "b"
                   : range ? "max"
                           : "sigma",
                   range ? parameter.high : parameter.sigma, range || beta);
    if (!taken) return taken;
    if (form.exponents) {
      if (form.inverse) {
        std::swap(parameter.low, parameter.high);
        parameter.low = -parameter.low;
        parameter.high = -parameter.high;
      }
      if (std::abs(parameter.low) > 700 || std::abs(parameter.high) > 700)
        return at_line(node.line,
                       "parameter " + parameter.name +
                           ": min and max are exponents of e here; log_uniform_values takes values");
      parameter.low = std::exp(parameter.low);
      parameter.high = std::exp(parameter.high);
    }
    parameter.whole =
        form.distribution == Distribution::kIntUniform || std::string_view(form.name).starts_with("int_");
    if (!form.quantised) {
      if (node.find("q") != nullptr)
        return at_line(node.find("q")->line,
                       "parameter " + parameter.name + ": q needs distribution: q_" + form.name);
      return {};
    }
    parameter.step = 1;
    if (const Status step = take("q", parameter.step, false); !step) return step;
    const YamlNode* q = node.find("q");
    if (!(parameter.step > 0))
      return at_line(q->line, "parameter " + parameter.name + ": q must be more than 0");
    parameter.whole = q == nullptr || std::holds_alternative<int64_t>(q->value());
    return {};
  }

  // The full name of a parameter that a condition names: beside it, or by all of its parts.
  std::string target_of(const Drafted& draft, const std::string& name) const {
    std::string beside;
    for (size_t i = 0; i + 1 < draft.parameter.path.size(); ++i) beside += draft.parameter.path[i] + ".";
    const auto is_known = [&](const std::string& full) {
      return std::any_of(drafts_.begin(), drafts_.end(),
                         [&](const Drafted& one) { return one.parameter.name == full; });
    };
    return is_known(beside + name) ? beside + name : name;
  }

  bool is_ready(const Drafted& draft, const std::map<std::string, size_t>& places) const {
    if (draft.condition == nullptr) return true;
    return std::all_of(draft.condition->pairs.begin(), draft.condition->pairs.end(), [&](const auto& pair) {
      const std::string target = target_of(draft, pair.first);
      // One that does not exist is an error, which look_up() tells.
      return places.contains(target) || std::none_of(drafts_.begin(), drafts_.end(), [&](const Drafted& one) {
               return one.parameter.name == target;
             });
    });
  }

  Status look_up(Drafted& draft, const Space& space, const std::map<std::string, size_t>& places) const {
    if (draft.condition == nullptr) return {};
    const std::string& name = draft.parameter.name;
    if (draft.condition->kind != YamlNode::Kind::kMap)
      return at_line(draft.condition->line, "parameter " + name + ": condition: {optimizer: sgd}");
    for (const auto& [other, wanted] : draft.condition->pairs) {
      const auto place = places.find(target_of(draft, other));
      if (place == places.end())
        return at_line(wanted.line,
                       "parameter " + name + ": its condition names " + other + ", which there is not");
      const Parameter& on = space.parameters()[place->second];
      if (!on.is_category())
        return at_line(wanted.line, "parameter " + name + ": its condition names " + other +
                                        ", which has no values to list");
      Condition condition{place->second, {}};
      const bool many = wanted.kind == YamlNode::Kind::kList;
      for (const YamlNode* item = many ? wanted.items.data() : &wanted;
           item != (many ? wanted.items.data() + wanted.items.size() : &wanted + 1); ++item) {
        const auto found = std::find(on.values.begin(), on.values.end(), item->value());
        if (found == on.values.end())
          return at_line(item->line,
                         "parameter " + name + ": " + other + " is never " + json_of(item->value()));
        condition.categories.push_back(static_cast<size_t>(found - on.values.begin()));
      }
      draft.parameter.conditions.push_back(std::move(condition));
    }
    return {};
  }

  std::vector<Drafted> drafts_;
};

size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

tl::unexpected<Error> at_line(uint32_t line, const std::string& what) {
  return failure("line " + std::to_string(line) + ": " + what);
}

std::string instead_of(const std::string& word, const std::vector<std::string>& known) {
  std::string closest, all;
  size_t least = 4;
  for (const std::string& one : known) {
    all += (all.empty() ? "" : ", ") + one;
    if (word.size() > 64) continue;
    if (const size_t apart = distance(word, one); apart < least) {
      least = apart;
      closest = one;
    }
  }
  return closest.empty() ? "; there are " + all : "; did you mean " + closest + "?";
}

Result<double> read_number(const YamlNode& node, const std::string& what) {
  const Value value = node.value();
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value); real != nullptr && std::isfinite(*real)) return *real;
  // PyYAML reads 1e-5 as a text; so files have "1e-5" in quotes, and are meant like this.
  if (node.is_scalar() && node.quoted) {
    YamlNode plain = node;
    plain.quoted = false;
    return read_number(plain, what);
  }
  return at_line(node.line, what + " is no number: " + (node.is_scalar() ? node.text : node.json()));
}

Result<uint64_t> read_count(const YamlNode& node, const std::string& what) {
  const auto number = read_number(node, what);
  if (!number) return failure(number.error());
  if (*number < 0 || *number > 1e15 || *number != std::floor(*number))
    return at_line(node.line, what + " must be a whole number, not " + node.text);
  return static_cast<uint64_t>(*number);
}

Result<Space> read_parameters(const YamlNode& node) {
  Reader reader;
  if (const Status read = reader.read(node, {}); !read) return failure(read.error());
  return reader.space();
}

}  // namespace minke::search
