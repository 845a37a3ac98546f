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

// "5", "5_3", "5_*", "5+10", "5_3+10".
std::optional<model::Dependency> parse_job(std::string_view text) {
  model::Dependency out;
  text = trim(text);
  if (size_t plus = text.find('+'); plus != std::string_view::npos) {
    auto minutes = parse_unsigned(text.substr(plus + 1), kMaxMinutes);
    if (!minutes) return std::nullopt;
    out.set_delay_minutes(static_cast<uint32_t>(*minutes));
    text = text.substr(0, plus);
  }
  if (size_t underscore = text.find('_'); underscore != std::string_view::npos) {
    std::string_view task_text = text.substr(underscore + 1);
    if (task_text != "*") {
      auto task = parse_unsigned(task_text, kMaxArrayIndex);
      if (!task) return std::nullopt;
      out.set_array_task_id(static_cast<uint32_t>(*task));
    }
    text = text.substr(0, underscore);
  }
  auto job_id = parse_unsigned(text, kMaxJobId);
  if (!job_id || *job_id == 0) return std::nullopt;
  out.set_job_id(static_cast<uint32_t>(*job_id));
  return out;
}

// Reads "type:job[:job...]", "singleton" or "5". Appends its terms; returns false if it is none of these.
bool parse_term(std::string_view text, std::vector<model::Dependency>& terms) {
  text = trim(text);
  if (equals_ignoring_case(text, "singleton")) {
    terms.emplace_back().set_type(model::SINGLETON);
    return true;
  }
  std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() == 1) {
    auto job = parse_job(text);
    if (!job) return false;
    terms.push_back(*job);
    return true;
  }
  std::optional<model::DependencyType> type;
  for (const TypeRow& row : kTypes) {
    if (equals_ignoring_case(row.name, trim(parts[0]))) type = row.type;
  }
  if (!type || *type == model::SINGLETON) return false;
  for (size_t i = 1; i < parts.size(); ++i) {
    auto job = parse_job(parts[i]);
    if (!job || terms.size() >= kMaxTerms) return false;
    job->set_type(*type);
    terms.push_back(*job);
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
    size_t at = text.find_first_of(",?");
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

std::string format_dependency_request(const DependencyList& list) {
  std::string out;
  for (const model::Dependency& term : list.terms) {
    if (!out.empty()) out += list.any ? '?' : ',';
    append_job(out, term, false);
  }
  return out;
}

}  // namespace minke::text
