#include "sweep/trial_command.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace minke::sweep {

namespace {

using search::Value;

// Parameters by the first part of their names, each with its value: a mapping where others are nested in it.
std::vector<std::pair<std::string, Value>> top_parameters(const search::SweepFile& file,
                                                          const search::Point& point, uint64_t budget) {
  std::vector<std::pair<std::string, Value>> found;
  const auto json = nlohmann::ordered_json::parse(trial_json(file, point, budget));
  for (const auto& [name, value] : json.items()) {
    if (value.is_object() || value.is_array()) {
      found.emplace_back(name, search::Compound{value.dump()});
    } else if (value.is_boolean()) {
      found.emplace_back(name, value.get<bool>());
    } else if (value.is_number_integer()) {
      found.emplace_back(name, value.get<int64_t>());
    } else if (value.is_number()) {
      found.emplace_back(name, value.get<double>());
    } else if (value.is_string()) {
      found.emplace_back(name, value.get<std::string>());
    } else {
      found.emplace_back(name, std::monostate{});
    }
  }
  return found;
}

class Macros {
 public:
  Macros(const search::SweepFile& file, const search::Point& point, const TrialPlace& place,
         const std::function<std::string(const std::string&)>& variable)
      : file_(file), point_(point), place_(place), variable_(variable) {}

  // Macros that stand for several words stand alone; nothing if this is none of them.
  std::optional<std::vector<std::string>> words(const std::string& macro) const {
    std::vector<std::string> out;
    const auto top = top_parameters(file_, point_, place_.budget);
    if (macro == "${args}" || macro == "${args_no_hyphens}") {
      for (const auto& [name, value] : top)
        out.push_back((macro == "${args}" ? "--" : "") + name + "=" + search::python_text(value));
      return out;
    }
    if (macro == "${args_no_boolean_flags}") {
      for (const auto& [name, value] : top) {
        const bool* truth = std::get_if<bool>(&value);
        if (truth == nullptr) out.push_back("--" + name + "=" + search::python_text(value));
        if (truth != nullptr && *truth) out.push_back("--" + name);
      }
      return out;
    }
    if (macro == "${args_flat}") {
      for (size_t i = 0; i < file_.plan.space.size(); ++i) {
        if (!std::isnan(point_[i]))
          out.push_back("--" + file_.plan.space.parameters()[i].name + "=" +
                        search::python_text(file_.plan.space.value(i, point_[i])));
      }
      if (!file_.resource.empty()) out.push_back("--" + file_.resource + "=" + std::to_string(place_.budget));
      return out;
    }
    return std::nullopt;
  }

  Result<std::string> text(const std::string& name) const {
    if (name == "env") return std::string("/usr/bin/env");
    if (name == "interpreter") {
      const std::string python = variable_("PYTHON");
      return python.empty() ? std::string("python3") : python;
    }
    if (name == "program") {
      if (file_.program.empty()) return failure("the command has ${program}, and there is no program:");
      return file_.program;
    }
    if (name == "args_json" || name == "json") return trial_json(file_, point_, place_.budget);
    if (name == "args_json_file") return place_.json_file;
    if (name == "checkpoint") return place_.checkpoint;
    if (name == "directory") return place_.directory;
    if (name == "trial") return std::to_string(place_.trial);
    if (name == "budget") return std::to_string(place_.budget);
    if (name.starts_with("envvar:")) return variable_(name.substr(7));
    if (name.starts_with("args"))
      return failure("${" + name + "} stands for several words: it is a word of its own in the command");
    return failure("there is no macro ${" + name +
                   "}; there are env, interpreter, program, args, args_no_hyphens, "
                   "args_no_boolean_flags, args_flat, args_json, args_json_file, envvar:NAME, checkpoint, "
                   "directory, trial, budget");
  }

 private:
  const search::SweepFile& file_;
  const search::Point& point_;
  const TrialPlace& place_;
  const std::function<std::string(const std::string&)>& variable_;
};

}  // namespace

std::string trial_json(const search::SweepFile& file, const search::Point& point, uint64_t budget) {
  const std::string json = file.plan.space.json(point);
  if (file.resource.empty()) return json;
  auto read = nlohmann::ordered_json::parse(json);
  read[file.resource] = budget;
  return read.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string wandb_parameters(const search::SweepFile& file, const search::Point& point, uint64_t budget) {
  nlohmann::ordered_json out;
  out["wandb_version"] = 1;
  const auto json = nlohmann::ordered_json::parse(trial_json(file, point, budget));
  for (const auto& [name, value] : json.items()) out[name]["value"] = value;
  return out.dump(1) + "\n";  // JSON is YAML
}

Result<std::vector<std::string>> trial_words(const search::SweepFile& file, const search::Point& point,
                                             const TrialPlace& place,
                                             const std::function<std::string(const std::string&)>& variable) {
  std::vector<std::string> given = file.command;
  if (given.empty()) {
    given = {"${env}", "${interpreter}", "${program}", "${args}"};
    // W&B starts what is no Python program by itself, too, where the file says so by its name.
    if (!file.program.ends_with(".py")) given.erase(given.begin() + 1);
    if (file.program.find('/') == std::string::npos && !file.program.ends_with(".py"))
      given[1] = "./${program}";
  }
  const Macros macros(file, point, place, variable);
  std::vector<std::string> words;
  for (const std::string& word : given) {
    if (const auto several = macros.words(word)) {
      words.insert(words.end(), several->begin(), several->end());
      continue;
    }
    std::string out;
    size_t at = 0;
    for (size_t begin; (begin = word.find("${", at)) != std::string::npos;) {
      const size_t end = word.find('}', begin);
      if (end == std::string::npos) break;
      const auto text = macros.text(word.substr(begin + 2, end - begin - 2));
      if (!text) return failure(text.error());
      out += word.substr(at, begin - at) + *text;
      at = end + 1;
    }
    words.push_back(out + word.substr(at));
  }
  return words;
}

}  // namespace minke::sweep
