#include "text/dependency.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "model/job_terms.pb.h"
#include "text/array_spec.h"
#include "text/number.h"

namespace minke::text {
namespace {

constexpr uint64_t kMaxJobId = 4294967293;
constexpr uint64_t kMaxMinutes = 4294967293;
constexpr size_t kMaxTerms = 100000;

struct TypeRow {
  model::DependencyType type;
  std::string_view name;
};
constexpr TypeRow kTypes[] = {
    {model::AFTER_ANY, "afterany"},
    {model::AFTER_OK, "afterok"},
    {model::AFTER_NOT_OK, "afternotok"},
    {model::AFTER, "after"},
    {model::SINGLETON, "singleton"},
    {model::AFTER_CORR, "aftercorr"},
    {model::AFTER_BURST_BUFFER, "afterburstbuffer"},
};

std::string_view type_name(model::DependencyType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.name;
  }
  return "afterany";
}

// Where the next of `marks` is outside brackets; npos: nowhere.
size_t find_outside_brackets(std::string_view text, std::string_view marks) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && depth > 0) --depth;
    if (depth == 0 && marks.find(text[i]) != std::string_view::npos) return i;
  }
  return std::string_view::npos;
}

// Reads the tasks of "5_3", "5_*" and "5_[1-3]", none for a job alone, and appends a term for each.
bool append_tasks(std::string_view tasks, const model::Dependency& job,
                  std::vector<model::Dependency>& terms) {
  const auto append = [&](uint32_t task) { terms.emplace_back(job).set_array_task_id(task); };
  if (tasks.starts_with('[')) {
    if (!tasks.ends_with(']')) return false;
    const auto list = parse_index_list(tasks.substr(1, tasks.size() - 2));
    if (!list || count_indices(*list) + terms.size() > kMaxTerms) return false;
    for (const model::IndexRange& range : list->ranges())
      for (uint32_t task = range.first(); task <= range.last(); task += std::max(1u, range.step()))
        append(task);
    return true;
  }
  const auto task = parse_unsigned(tasks, kMaxArrayIndex);
  if (task) append(static_cast<uint32_t>(*task));
  return task.has_value();
}

// Appends the terms of "5", "5_3", "5_*", "5_[1-3]", "5+10", "5_3+10". A delay is the last task's, and that
// of the jobs after it in the same list, as in Slurm. False if it is none of these.
bool append_jobs(std::string_view text, model::Dependency& like, std::vector<model::Dependency>& terms) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.starts_with('+')) text.remove_prefix(1);  // a sign
  std::optional<uint64_t> delay;
  if (const size_t plus = text.find('+'); plus != std::string_view::npos) {
    delay = parse_unsigned(text.substr(plus + 1), kMaxMinutes);
    if (delay.value_or(0) == 0) return false;
    text = text.substr(0, plus);
  }
  const size_t underscore = std::min(text.find('_'), text.size());
  const auto job_id = parse_unsigned(text.substr(0, underscore), kMaxJobId);
  if (job_id.value_or(0) == 0) return false;
  like.set_job_id(static_cast<uint32_t>(*job_id));
  const std::string_view tasks = text.substr(std::min(underscore + 1, text.size()));
  if (underscore == text.size() || tasks == "*") {
    terms.emplace_back(like).set_whole_array(tasks == "*");
  } else if (!append_tasks(tasks, like, terms)) {
    return false;
  }
  if (delay) {
    like.set_delay_minutes(static_cast<uint32_t>(*delay));
    terms.back().set_delay_minutes(like.delay_minutes());
  }
  return true;
}

// Reads "type:job[:job...]", "singleton" or "5". Appends its terms; returns false if it is none of these.
bool parse_term(std::string_view text, std::vector<model::Dependency>& terms) {
  if (equals_ignoring_case(trim(text), "singleton")) {
    terms.emplace_back().set_type(model::SINGLETON);
    return true;
  }
  model::Dependency like;
  size_t colon = find_outside_brackets(text, ":");
  if (colon == std::string_view::npos) return append_jobs(text, like, terms);
  std::optional<model::DependencyType> type;
  for (const TypeRow& row : kTypes) {
    if (equals_ignoring_case(row.name, trim(text.substr(0, colon)))) type = row.type;
  }
  if (!type || *type == model::SINGLETON) return false;
  like.set_type(*type);
  while (colon != std::string_view::npos) {
    text.remove_prefix(colon + 1);
    colon = find_outside_brackets(text, ":");
    if (terms.size() >= kMaxTerms || !append_jobs(text.substr(0, colon), like, terms)) return false;
  }
  return true;
}

// Keeps the first term of each job, and drops later ones.
void forget_repeated(std::vector<model::Dependency>& terms) {
  std::set<std::tuple<int, uint32_t, bool, uint32_t>> known;
  std::erase_if(terms, [&](const model::Dependency& term) {
    return !known.emplace(term.type(), term.job_id(), term.has_array_task_id(), term.array_task_id()).second;
  });
}

void append_job(std::string& out, const model::Dependency& term, bool whole_array) {
  out += type_name(term.type());
  if (term.type() == model::SINGLETON) return;
  out += ':';
  out += std::to_string(term.job_id());
  if (term.has_array_task_id()) {
    out.append(1, '_').append(std::to_string(term.array_task_id()));
  } else if (whole_array) {
    out += "_*";
  }
  if (term.delay_minutes() != 0) out.append(1, '+').append(std::to_string(term.delay_minutes()));
}

}  // namespace

Result<DependencyList> parse_dependencies(std::string_view text) {
  DependencyList list;
  if (trim(text).empty()) return list;
  while (true) {
    const size_t at = find_outside_brackets(text, ",?");
    if (!parse_term(text.substr(0, at), list.terms)) return failure("Job dependency problem");
    if (at == std::string_view::npos) {
      forget_repeated(list.terms);
      return list;
    }
    if (text[at] == '?') list.any = true;
    text.remove_prefix(at + 1);
  }
}

std::string format_dependencies(const DependencyList& list) {
  std::string out;
  for (const model::Dependency& term : list.terms) {
    if (term.status() == model::DEPENDENCY_FULFILLED) continue;
    if (!out.empty()) out += list.any ? '?' : ',';
    append_job(out, term, term.whole_array());
    out += term.status() == model::DEPENDENCY_FAILED ? "(failed)" : "(unfulfilled)";
  }
  return out;
}

std::string format_dependency_request(const DependencyList& list, bool with_arrays) {
  std::string out;
  for (const model::Dependency& term : list.terms) {
    if (!out.empty()) out += list.any ? '?' : ',';
    append_job(out, term, with_arrays && term.whole_array());
  }
  return out;
}

}  // namespace minke::text
