#include "text/job_id.h"

#include <algorithm>

#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "text/array_spec.h"
#include "text/number.h"
#include "text/state.h"

namespace minke::text {
namespace {

constexpr uint64_t kMaxJobId = 4294967293;
constexpr uint64_t kMaxComponents = 127;
constexpr uint64_t kMaxStepId = 4294967040;  // above it Slurm keeps numbers for batch, extern and the like

std::optional<StepReference> parse_step(std::string_view text) {
  for (model::StepKind kind : {model::STEP_BATCH, model::STEP_EXTERN, model::STEP_INTERACTIVE}) {
    if (equals_ignoring_case(text, step_name(kind, 0))) return StepReference{kind, 0};
  }
  auto number = parse_unsigned(text, kMaxStepId);
  if (!number) return std::nullopt;
  return StepReference{model::STEP_NORMAL, static_cast<uint32_t>(*number)};
}

}  // namespace

Result<JobReference> parse_job_id(std::string_view text) {
  auto invalid = [] { return failure("Invalid job id specified"); };
  JobReference out;
  std::string_view rest = trim(text);
  size_t digits = 0;
  while (digits < rest.size() && is_digit(rest[digits])) ++digits;
  auto job_id = parse_unsigned(rest.substr(0, digits), kMaxJobId);
  if (!job_id || *job_id == 0) return invalid();
  out.job_id = static_cast<uint32_t>(*job_id);
  rest.remove_prefix(digits);
  if (rest.starts_with('_')) {
    rest.remove_prefix(1);
    bool bracket = rest.starts_with('[');
    size_t end = bracket ? rest.find(']') : rest.find('.');
    if (bracket && end == std::string_view::npos) return invalid();
    std::string_view tasks = bracket ? rest.substr(1, end - 1) : rest.substr(0, end);
    if (bracket) {
      auto array = parse_array_spec(tasks);
      if (!array) return invalid();
      out.tasks = *array;
    } else if (tasks != "*") {
      auto task = parse_unsigned(tasks, kMaxArrayIndex);
      if (!task) return invalid();
      model::IndexRange* range = out.tasks.add_ranges();
      range->set_first(static_cast<uint32_t>(*task));
      range->set_last(static_cast<uint32_t>(*task));
      range->set_step(1);
    }
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + (bracket ? 1 : 0));
  }
  if (rest.starts_with('+')) {
    size_t end = std::min(rest.find('.'), rest.size());
    auto offset = parse_unsigned(rest.substr(1, end - 1), kMaxComponents);
    if (!offset || out.tasks.ranges_size() > 0) return invalid();
    out.het_offset = static_cast<uint32_t>(*offset);
    rest.remove_prefix(end);
  }
  if (rest.starts_with('.')) {
    out.step = parse_step(rest.substr(1));
    if (!out.step) return invalid();
    rest = {};
  }
  if (!rest.empty()) return invalid();
  return out;
}

Result<std::vector<JobReference>> parse_job_id_list(std::string_view text) {
  std::vector<JobReference> out;
  size_t start = 0;
  bool in_brackets = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (i < text.size() && c == '[') in_brackets = true;
    if (c == ']') in_brackets = false;
    if (i < text.size() && (in_brackets || (c != ',' && c != ' '))) continue;
    std::string_view item = text.substr(start, i - start);
    start = i + 1;
    if (item.empty()) continue;
    auto reference = parse_job_id(item);
    if (!reference) return failure(reference.error());
    out.push_back(std::move(*reference));
  }
  return out;
}

std::string format_job_id(const JobReference& reference) {
  std::string out = std::to_string(reference.job_id);
  const model::ArraySpec& tasks = reference.tasks;
  if (tasks.ranges_size() != 0) {
    bool single = count_indices(tasks) == 1 && tasks.max_running() == 0;
    out += single ? "_" : "_[";
    out += format_array_spec(tasks);
    if (!single) out += ']';
  }
  if (reference.het_offset) out.append(1, '+').append(std::to_string(*reference.het_offset));
  if (reference.step) out.append(1, '.').append(step_name(reference.step->kind, reference.step->step_id));
  return out;
}

std::string format_job_id(const model::JobRecord& job, size_t max_tasks_length) {
  if (job.het_job_id() != 0)
    return std::to_string(job.het_job_id()) + "+" + std::to_string(job.het_job_offset());
  if (job.array_job_id() == 0) return std::to_string(job.job_id());
  std::string out = std::to_string(job.array_job_id());
  if (job.has_array_task_id()) {
    out.append(1, '_').append(std::to_string(job.array_task_id()));
  } else {
    out.append("_[").append(format_array_tasks(job.array_pending(), max_tasks_length)).append(1, ']');
  }
  return out;
}

std::string format_step_id(const model::StepRecord& step) {
  std::string out;
  if (step.array_job_id() != 0 && step.has_array_task_id()) {
    out.append(std::to_string(step.array_job_id()))
        .append(1, '_')
        .append(std::to_string(step.array_task_id()));
  } else {
    out = std::to_string(step.job_id());
  }
  return out.append(1, '.').append(step_name(step.kind(), step.step_id()));
}

}  // namespace minke::text
