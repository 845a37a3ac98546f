#include "search/sweep_file.h"

#include <algorithm>
#include <cmath>

#include "search/sweep_parameters.h"
#include "search/yaml_tree.h"

namespace minke::search {

namespace {

// Of W&B's service, or of its launcher: they change nothing of what is searched.
const std::vector<std::string> kLeftAside = {"project", "entity",    "controller", "job",    "image_uri",
                                             "launch",  "scheduler", "$schema",    "imports"};
const std::vector<std::string> kKnown = {
    "name",    "description",     "program", "command",      "method",     "metric", "parameters",
    "run_cap", "early_terminate", "seed",    "first_trials", "population", "sbatch", "jobs"};

class Reader {
 public:
  explicit Reader(const YamlNode& root) : root_(root) {}

  Result<SweepFile> read() {
    for (const auto& part :
         {&Reader::keys, &Reader::texts, &Reader::method, &Reader::metric, &Reader::parameters,
          &Reader::early_terminate, &Reader::population, &Reader::counts, &Reader::words}) {
      if (const Status done = (this->*part)(); !done) return failure(done.error());
    }
    if (const Status checked = check(file_.plan); !checked)
      return at_line(line_to_change(), checked.error().message);
    return std::move(file_);
  }

 private:
  // Where the parts of a plan do not fit together.
  uint32_t line_to_change() const {
    const Space& space = file_.plan.space;
    if (space.empty()) return root_.find("parameters")->line;
    if (file_.plan.population) return root_.find("population")->line;
    for (size_t i = 0; i < space.size(); ++i) {
      if (space.count(i) == 0) return space.parameters()[i].line;
    }
    return root_.find("method")->line;
  }

  Status keys() {
    if (root_.kind != YamlNode::Kind::kMap)
      return failure("line 1: a sweep file is a mapping: method:, parameters: …");
    for (size_t i = 0; i < root_.pairs.size(); ++i) {
      const std::string& key = root_.pairs[i].first;
      if (std::find(kLeftAside.begin(), kLeftAside.end(), key) != kLeftAside.end())
        file_.notes.push_back(key + " is of W&B's service, and changes nothing here");
      else if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end())
        return at_line(root_.key_lines[i], "unknown key " + key + instead_of(key, kKnown));
    }
    return {};
  }

  Status texts() {
    for (const auto& [key, place] :
         {std::pair{"name", &file_.name}, {"description", &file_.description}, {"program", &file_.program}}) {
      const YamlNode* node = root_.find(key);
      if (node == nullptr) continue;
      if (!node->is_scalar()) return at_line(node->line, std::string(key) + " is a text");
      *place = node->text;
    }
    return {};
  }

  Status method() {
    const YamlNode* node = root_.find("method");
    if (node == nullptr) return failure("method is missing: grid, random or bayes");
    if (node->is_scalar() && node->text.empty())
      return at_line(node->line, "method is empty: grid, random or bayes");
    const auto found = method_of(node->text);
    if (!found || !node->is_scalar())
      return at_line(node->line,
                     "there is no method " + node->text +
                         instead_of(node->text, {"grid", "random", "bayes", "tpe", "sobol", "halton"}));
    file_.plan.sampler.method = *found;
    return {};
  }

  static Result<Impute> impute_of(const YamlNode& node) {
    if (node.text == "worst") return Impute::kWorst;
    if (node.text == "best") return Impute::kBest;
    if (node.text == "latest") return Impute::kLatest;
    return at_line(node.line, "impute is worst, best or latest, not " + node.text);
  }

  Status metric() {
    const YamlNode* node = root_.find("metric");
    const bool needed = file_.plan.sampler.method == Method::kBayes ||
                        file_.plan.sampler.method == Method::kTpe ||
                        root_.find("early_terminate") != nullptr || root_.find("population") != nullptr;
    if (node == nullptr && needed) return failure("metric is missing: metric: {name: loss, goal: minimize}");
    if (node == nullptr) return {};
    if (node->kind != YamlNode::Kind::kMap)
      return at_line(node->line, "metric: {name: loss, goal: minimize}");
    const std::vector<std::string> known = {"name", "goal", "target", "impute", "impute_while_running"};
    for (size_t i = 0; i < node->pairs.size(); ++i) {
      const auto& [key, value] = node->pairs[i];
      if (std::find(known.begin(), known.end(), key) == known.end())
        return at_line(node->key_lines[i], "metric: unknown key " + key + instead_of(key, known));
    }
    const YamlNode* name = node->find("name");
    if (name == nullptr || !name->is_scalar() || name->text.empty())
      return at_line(node->line, "metric: name is missing: what the training writes it as");
    file_.metric = name->text;
    if (const YamlNode* goal = node->find("goal")) {
      if (goal->text != "minimize" && goal->text != "maximize")
        return at_line(goal->line, "goal is minimize or maximize, not " + goal->text);
      file_.plan.goal = goal->text == "maximize" ? Goal::kMaximize : Goal::kMinimize;
    }
    if (const YamlNode* target = node->find("target")) {
      const auto number = read_number(*target, "target");
      if (!number) return failure(number.error());
      file_.plan.target = *number;
    }
    return imputes(*node);
  }

  Status imputes(const YamlNode& node) {
    if (const YamlNode* given = node.find("impute")) {
      const auto impute = impute_of(*given);
      if (!impute) return failure(impute.error());
      file_.plan.impute = *impute;
    }
    const YamlNode* running = node.find("impute_while_running");
    if (running == nullptr || running->text == "false") return {};
    const auto impute = impute_of(*running);
    if (!impute) return failure(impute.error());
    file_.plan.impute_while_running = *impute;
    return {};
  }

  Status parameters() {
    const YamlNode* node = root_.find("parameters");
    if (node == nullptr) return failure("parameters are missing");
    auto space = read_parameters(*node);
    if (!space) return failure(space.error());
    file_.plan.space = std::move(*space);
    return {};
  }

  Status counted(const YamlNode& node, const char* key, uint64_t& place) {
    const YamlNode* given = node.find(key);
    if (given == nullptr) return {};
    const auto count = read_count(*given, key);
    if (!count) return failure(count.error());
    place = *count;
    return {};
  }

  Status numbered(const YamlNode& node, const char* key, double& place) {
    const YamlNode* given = node.find(key);
    if (given == nullptr) return {};
    const auto number = read_number(*given, key);
    if (!number) return failure(number.error());
    place = *number;
    return {};
  }

  Status only(const YamlNode& node, const std::string& where, const std::vector<std::string>& known) {
    if (node.kind != YamlNode::Kind::kMap) return at_line(node.line, where + " is a mapping");
    for (size_t i = 0; i < node.pairs.size(); ++i) {
      const std::string& key = node.pairs[i].first;
      if (std::find(known.begin(), known.end(), key) == known.end())
        return at_line(node.key_lines[i], where + ": unknown key " + key + instead_of(key, known));
    }
    return {};
  }

  // Trials that train up to a budget are told so by a parameter of the program.
  Status resource_of(const YamlNode& node, const std::string& where) {
    const YamlNode* given = node.find("resource");
    if (given == nullptr || !given->is_scalar() || given->text.empty())
      return at_line(node.line,
                     where + ": resource is missing: the parameter that says how long to train, as epochs");
    file_.resource = given->text;
    for (const Parameter& parameter : file_.plan.space.parameters()) {
      if (parameter.name == file_.resource)
        return at_line(parameter.line, "parameter " + parameter.name + " is the resource of " + where +
                                           ", which sets it: take it out of the parameters");
    }
    return {};
  }

  Status early_terminate() {
    const YamlNode* node = root_.find("early_terminate");
    if (node == nullptr) return {};
    if (const Status known =
            only(*node, "early_terminate",
                 {"type", "min_iter", "max_iter", "s", "eta", "strict", "resource", "brackets"});
        !known)
      return known;
    const YamlNode* type = node->find("type");
    if (type == nullptr) return at_line(node->line, "early_terminate: type is missing: hyperband or asha");
    if (type->text != "hyperband" && type->text != "asha")
      return at_line(type->line, "early_terminate: there is no type " + type->text +
                                     instead_of(type->text, {"hyperband", "asha"}));
    if (type->text == "asha" || node->find("resource") != nullptr)
      return halving(*node, type->text == "asha");
    EarlyStop stop;
    for (const auto& [key, place] :
         {std::pair{"min_iter", &stop.min_iter}, {"max_iter", &stop.max_iter}, {"s", &stop.s}}) {
      if (const Status read = counted(*node, key, *place); !read) return read;
    }
    if (const Status eta = numbered(*node, "eta", stop.eta); !eta) return eta;
    if (const YamlNode* strict = node->find("strict")) {
      const Value value = strict->value();
      if (!std::holds_alternative<bool>(value)) return at_line(strict->line, "strict is true or false");
      stop.strict = std::get<bool>(value);
    }
    if (const Status checked = check(stop); !checked) return at_line(node->line, checked.error().message);
    file_.plan.early_stop = stop;
    return {};
  }

  Status halving(const YamlNode& node, bool asha) {
    for (const char* key : {"s", "strict"}) {
      if (node.find(key) != nullptr)
        return at_line(node.find(key)->line,
                       std::string(key) + " is for trials that run on; with resource it is brackets");
    }
    Halving halving;
    halving.max = 0;
    for (const auto& [key, place] : {std::pair{"min_iter", &halving.min}, {"max_iter", &halving.max}}) {
      if (const Status read = counted(node, key, *place); !read) return read;
    }
    if (halving.max == 0) return at_line(node.line, "early_terminate: max_iter is missing");
    if (const Status eta = numbered(node, "eta", halving.eta); !eta) return eta;
    if (const Status checked = check(halving); !checked) return at_line(node.line, checked.error().message);
    uint64_t number = asha ? 1 : rungs(halving).size();
    if (const Status read = counted(node, "brackets", number); !read) return read;
    halving.brackets = static_cast<size_t>(number);
    if (const Status checked = check(halving); !checked) return at_line(node.line, checked.error().message);
    file_.plan.halving = halving;
    return resource_of(node, "early_terminate");
  }

  Status population() {
    const YamlNode* node = root_.find("population");
    if (node == nullptr) return {};
    if (const Status known =
            only(*node, "population", {"size", "interval", "max", "quantile", "resample", "resource"});
        !known)
      return known;
    PopulationSettings settings;
    uint64_t size = settings.size;
    for (const auto& [key, place] :
         {std::pair{"size", &size}, {"interval", &settings.interval}, {"max", &settings.max}}) {
      if (const Status read = counted(*node, key, *place); !read) return read;
    }
    settings.size = static_cast<size_t>(size);
    for (const auto& [key, place] :
         {std::pair{"quantile", &settings.quantile}, {"resample", &settings.resample}}) {
      if (const Status read = numbered(*node, key, *place); !read) return read;
    }
    if (const Status checked = check(settings); !checked) return at_line(node->line, checked.error().message);
    file_.plan.population = settings;
    return resource_of(*node, "population");
  }

  Status counts() {
    uint64_t first = 0;
    for (const auto& [key, place] : {std::pair{"run_cap", &file_.plan.trials},
                                     {"seed", &file_.plan.sampler.seed},
                                     {"first_trials", &first},
                                     {"jobs", &file_.jobs}}) {
      if (const Status read = counted(root_, key, *place); !read) return read;
    }
    for (const char* key : {"run_cap", "jobs"}) {
      const YamlNode* given = root_.find(key);
      if (given != nullptr && read_count(*given, key).value_or(1) == 0)
        return at_line(given->line, std::string(key) + " is 1 at least");
    }
    file_.plan.sampler.first_trials = static_cast<size_t>(first);
    return {};
  }

  Status words() {
    for (const auto& [key, place] : {std::pair{"command", &file_.command}, {"sbatch", &file_.sbatch}}) {
      const YamlNode* node = root_.find(key);
      if (node == nullptr) continue;
      if (node->kind != YamlNode::Kind::kList || node->items.empty())
        return at_line(node->line,
                       std::string(key) + " is a list of words, one a line with \"- \" before it");
      for (const YamlNode& item : node->items) {
        if (!item.is_scalar()) return at_line(item.line, std::string(key) + " is a list of words");
        if (item.text.find('\0') != std::string::npos) return at_line(item.line, "a word has no NUL byte");
        place->push_back(item.text);
      }
    }
    return {};
  }

  const YamlNode& root_;
  SweepFile file_;
};

}  // namespace

Result<SweepFile> read_sweep_file(std::string_view text) {
  const auto root = read_yaml(text);
  if (!root) return failure(root.error());
  Reader reader(*root);
  return reader.read();
}

}  // namespace minke::search
