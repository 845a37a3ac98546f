#include "text/job_id.h"

#include <algorithm>

#include "model/interactive_step.h"
#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "text/array_spec.h"
#include "text/number.h"
#include "text/sluid.h"
#include "text/state.h"

namespace minke::text {
namespace {

constexpr uint64_t kMaxJobId = 4294967293;
constexpr uint64_t kMaxComponents = 127;
constexpr uint64_t kMaxStepId = 4294967040;  // Slurm keeps numbers above it for batch, extern and the like

std::optional<StepReference> parse_step(std::string_view text) {
  for (model::StepKind kind : {model::STEP_BATCH, model::STEP_EXTERN, model::STEP_INTERACTIVE}) {
    if (!equals_ignoring_case(text, step_name(kind, 0))) continue;
    return StepReference{kind, kind == model::STEP_INTERACTIVE ? model::kInteractiveStep : 0};
  }
  auto number = parse_unsigned(text, kMaxStepId);
  if (!number) return std::nullopt;
  return StepReference{model::STEP_NORMAL, static_cast<uint32_t>(*number)};
}

// A cursor over one job id. Each reader takes its part at the cursor; it returns false if there is none.
class JobIdReader {
 public:
  explicit JobIdReader(std::string_view text) : rest_(trim(text)) {}

  std::optional<JobReference> read() {
    if (!read_number()) return std::nullopt;
    if (rest_.starts_with('_') && !read_tasks()) return std::nullopt;
    if (rest_.starts_with('+') && !read_component()) return std::nullopt;
    if (rest_.starts_with('.') && !read_step()) return std::nullopt;
    if (!rest_.empty()) return std::nullopt;
    return out_;
  }

 private:
  bool read_number() {
    if (const size_t end = std::min(rest_.find_first_of("_+."), rest_.size());
        const auto sluid = parse_sluid(rest_.substr(0, end))) {
      out_.job_id = sluid->job_id;
      rest_.remove_prefix(end);
      return true;
    }
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto job_id = parse_unsigned(rest_.substr(0, digits), kMaxJobId);
    if (!job_id || *job_id == 0) return false;
    out_.job_id = static_cast<uint32_t>(*job_id);
    rest_.remove_prefix(digits);
    return true;
  }

  // "_[1-5,9%2]", "_3", "_*": all tasks.
  bool read_tasks() {
    rest_.remove_prefix(1);
    if (rest_.starts_with('[')) {
      const size_t end = rest_.find(']');
      if (end == std::string_view::npos) return false;
      const auto array = parse_array_spec(rest_.substr(1, end - 1));
      if (!array) return false;
      out_.tasks = *array;
      rest_.remove_prefix(end + 1);
      return true;
    }
    const size_t end = std::min(rest_.find('.'), rest_.size());
    const std::string_view index = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (index == "*") return true;
    const auto task = parse_unsigned(index, kMaxArrayIndex);
    if (!task) return false;
    model::IndexRange* range = out_.tasks.add_ranges();
    range->set_first(static_cast<uint32_t>(*task));
    range->set_last(static_cast<uint32_t>(*task));
    range->set_step(1);
    return true;
  }

  // "+1", of a heterogeneous job.
  bool read_component() {
    const size_t end = std::min(rest_.find('.'), rest_.size());
    const auto offset = parse_unsigned(rest_.substr(1, end - 1), kMaxComponents);
    if (!offset || out_.tasks.ranges_size() > 0) return false;
    out_.het_offset = static_cast<uint32_t>(*offset);
    rest_.remove_prefix(end);
    return true;
  }

  // ".batch", ".0"
  bool read_step() {
    out_.step = parse_step(rest_.substr(1));
    rest_ = {};
    return out_.step.has_value();
  }

  std::string_view rest_;
  JobReference out_;
};

}  // namespace

Result<JobReference> parse_job_id(std::string_view text) {
  if (auto reference = JobIdReader(text).read()) return std::move(*reference);
  return failure("Invalid job id specified");
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

uint32_t shown_number(const model::JobRecord& job) {
  return job.array_job_id() != 0 ? job.array_job_id() : job.job_id();
}

uint64_t jobs_in(const model::JobRecord& job) {
  const bool waits = job.array_job_id() != 0 && !job.has_array_task_id();
  return waits ? std::max<uint64_t>(1, count_indices(job.array_pending())) : 1;
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
