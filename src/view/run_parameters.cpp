#include "view/run_parameters.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "text/number.h"

namespace minke::view {
namespace {

constexpr size_t kMostScript = 1 << 20, kMostParameters = 200, kMostName = 100, kMostValue = 300;

// What prepares a run, and is no parameter of it.
constexpr std::array<std::string_view, 19> kPreparing = {
    "module", "ml",  "source", ".",    "cd",    "echo",   "mkdir", "cp",         "mv",        "rm",
    "tar",    "pip", "set",    "date", "sleep", "ulimit", "trap",  "virtualenv", "nvidia-smi"};

using Words = std::vector<std::string>;
using Known = std::map<std::string, std::string, std::less<>>;

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-' ||
           c == '+';
  });
}

bool is_variable(std::string_view text) {
  return is_name(text) && text.find_first_of("./-+") == std::string_view::npos;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
         text.find_first_of("0123456789") != std::string_view::npos;
}

// Replaces $NAME, ${NAME} and ${NAME:-otherwise} where the value is known.
std::string filled_in(std::string_view word, const Known& known) {
  std::string out;
  while (!word.empty()) {
    const size_t dollar = word.find('$');
    out += word.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    word.remove_prefix(dollar);
    const bool braced = word.size() > 1 && word[1] == '{';
    size_t end = braced ? word.find('}') : 1;
    if (!braced)
      while (end < word.size() &&
             (std::isalnum(static_cast<unsigned char>(word[end])) != 0 || word[end] == '_'))
        ++end;
    if (end == std::string_view::npos || (end == 1 && !braced)) {
      out += word;
      break;
    }
    std::string_view name = braced ? word.substr(2, end - 2) : word.substr(1, end - 1), otherwise;
    if (const size_t colon = name.find(":-"); colon != std::string_view::npos) {
      otherwise = name.substr(colon + 2);
      name = name.substr(0, colon);
    }
    const size_t taken = end + (braced ? 1 : 0);
    if (const auto found = known.find(name); found != known.end())
      out += found->second;
    else
      out += otherwise.empty() ? word.substr(0, taken) : otherwise;
    word.remove_prefix(taken);
    if (out.size() > kMostValue) break;
  }
  return out;
}

// Commands of one line as words without their quotes: each "|", ";" or "&" ends one.
std::vector<Words> commands_of(std::string_view line) {
  std::vector<Words> commands(1);
  std::string word;
  bool begun = false;
  char quote = 0;
  const auto end_word = [&] {
    if (begun) commands.back().push_back(std::move(word));
    word.clear();
    begun = false;
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      begun = true;
    } else if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      begun = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else if (c == '#' && !begun) {
      break;
    } else if (c == '|' || c == ';' || c == '&') {
      end_word();
      if (!commands.back().empty()) commands.emplace_back();
    } else {
      word += c;
      begun = true;
    }
  }
  end_word();
  return commands;
}

class Reader {
 public:
  explicit Reader(const model::JobRecord& job) {
    const model::JobSpec& spec = job.spec();
    for (int i = 0; i < spec.arguments_size(); ++i) known_[std::to_string(i)] = spec.arguments(i);
    known_["SLURM_JOB_ID"] = std::to_string(job.job_id());
    if (job.has_array_task_id()) {
      known_["SLURM_ARRAY_TASK_ID"] = std::to_string(job.array_task_id());
      add("SLURM_ARRAY_TASK_ID", known_["SLURM_ARRAY_TASK_ID"]);
    }
    for (const std::string_view one : text::split(spec.export_option(), ','))
      if (const size_t equals = one.find('='); equals != std::string_view::npos)
        assign(std::string(one.substr(0, equals)), std::string(one.substr(equals + 1)));
    Words arguments(spec.arguments().begin(), spec.arguments().end());
    if (arguments.size() > 1) take_options(arguments, 1);
  }

  void take(const Words& command) {
    size_t at = 0;
    if (!command.empty() && command[0] == "export") ++at;
    const size_t first = at;
    for (; at < command.size(); ++at) {
      const size_t equals = command[at].find('=');
      if (equals == std::string::npos || !is_variable(std::string_view(command[at]).substr(0, equals))) break;
      assign(command[at].substr(0, equals),
             filled_in(std::string_view(command[at]).substr(equals + 1), known_));
    }
    if (first == 1 || at >= command.size()) return;
    if (std::find(kPreparing.begin(), kPreparing.end(), command[at]) != kPreparing.end()) return;
    take_options(command, at + 1);
  }

  std::vector<RunParameter> all() && { return std::move(found_); }

 private:
  void assign(std::string name, std::string value) {
    if (!is_variable(name)) return;
    add(name, value);
    known_[std::move(name)] = std::move(value);
  }

  void add(std::string name, std::string value) {
    name.resize(std::min(name.size(), kMostName));
    value.resize(std::min(value.size(), kMostValue));
    for (RunParameter& one : found_)
      if (one.name == name) {
        one.value = std::move(value);
        return;
      }
    if (found_.size() < kMostParameters) found_.push_back({std::move(name), std::move(value)});
  }

  // "name=value", from `from` on. Returns whether it is one.
  bool take_pair(const std::string& word, size_t from) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals < from) return false;
    if (std::string name = word.substr(from, equals - from); is_name(name))
      add(std::move(name), filled_in(std::string_view(word).substr(equals + 1), known_));
    return true;
  }

  void take_options(const Words& words, size_t at) {
    for (; at < words.size(); ++at) {
      const std::string& word = words[at];
      const bool is_long = word.size() > 2 && word.starts_with("--");
      const bool is_option = is_long || (word.size() == 2 && word[0] == '-');
      if (take_pair(word, is_long ? 2 : 0) || !is_option) continue;
      std::string name = word.substr(is_long ? 2 : 1);
      if (!is_name(name)) continue;
      if (at + 1 < words.size() && is_value(words[at + 1], is_long))
        add(std::move(name), filled_in(words[++at], known_));
      else if (is_long)
        add(std::move(name), "yes");
    }
  }

  // What follows a single letter may be anything: a number is its value.
  bool is_value(const std::string& next, bool is_long) const {
    if (is_number(filled_in(next, known_))) return true;
    return is_long && !next.starts_with('-') && next.find('=') == std::string::npos;
  }

  Known known_;
  std::vector<RunParameter> found_;
};

}  // namespace

std::vector<RunParameter> run_parameters(const model::JobRecord& job, std::string_view script) {
  Reader reader(job);
  if (script.size() > kMostScript) return std::move(reader).all();
  std::string joined;
  for (std::string_view line : text::split(script, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.ends_with('\\')) {
      joined.append(line.substr(0, line.size() - 1)).append(1, ' ');
      continue;
    }
    joined += line;
    for (const Words& command : commands_of(joined)) reader.take(command);
    joined.clear();
  }
  if (!joined.empty())
    for (const Words& command : commands_of(joined)) reader.take(command);
  return std::move(reader).all();
}

}  // namespace minke::view
