#include "engine/embedded/server/answers.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "api/accounting.pb.h"
#include "api/measurements.pb.h"
#include "api/step_usage.pb.h"
#include "api/steps.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "rpc/messages.pb.h"
#include "submit/text_limits.h"

namespace minke::engine {

namespace {

using model::JobRecord;
using model::StepRecord;

// Limit for the texts of the steps in one job's accounting record; beyond it,
// the other texts are shortened.
constexpr size_t kMostStepTexts = size_t{8} << 20, kShortText = 256;
constexpr size_t kRecordHeadBytes = 6;  // its tag and length within a list
// Further steps of a job are left out, because they would not fit in a frame.
constexpr size_t kMostBytesOfJob = size_t{32} << 20;

void cut(std::string& text, size_t most) {
  if (text.size() > most) text.resize(most);
}

// Touches only texts that are too long, so that no empty field is created.
template <typename Message>
void cut_field(Message& record, const std::string& (Message::*text)() const,
               std::string* (Message::*mutable_text)(), size_t most) {
  if ((record.*text)().size() > most) cut(*(record.*mutable_text)(), most);
}

void cut_step(StepRecord& step, size_t most_line = submit::kMostLineBytes) {
  cut_field(step, &StepRecord::name, &StepRecord::mutable_name, submit::kMostNameBytes);
  cut_field(step, &StepRecord::command, &StepRecord::mutable_command,
            std::min(most_line, submit::kMostPathBytes));
  cut_field(step, &StepRecord::submit_line, &StepRecord::mutable_submit_line, most_line);
  cut_field(step, &StepRecord::launch_error, &StepRecord::mutable_launch_error, submit::kMostPathBytes);
}

void cut_job(JobRecord& job) {
  if (job.has_spec()) submit::cut_texts(*job.mutable_spec());
  cut_field(job, &JobRecord::name, &JobRecord::mutable_name, submit::kMostNameBytes);
  cut_field(job, &JobRecord::reason_detail, &JobRecord::mutable_reason_detail, submit::kMostPathBytes);
  cut_field(job, &JobRecord::partition, &JobRecord::mutable_partition, submit::kMostNameBytes);
  cut_field(job, &JobRecord::account, &JobRecord::mutable_account, submit::kMostNameBytes);
  cut_field(job, &JobRecord::qos, &JobRecord::mutable_qos, submit::kMostNameBytes);
  for (const auto& [text, mutable_text] : {std::pair{&JobRecord::stdin_path, &JobRecord::mutable_stdin_path},
                                           {&JobRecord::stdout_path, &JobRecord::mutable_stdout_path},
                                           {&JobRecord::stderr_path, &JobRecord::mutable_stderr_path}})
    cut_field(job, text, mutable_text, 2 * submit::kMostPathBytes);
}

void cut_accounted(api::AccountedJob& accounted) {
  cut_job(*accounted.mutable_job());
  size_t texts = 0, bytes = accounted.job().ByteSizeLong();
  int kept = 0;
  for (StepRecord& step : *accounted.mutable_steps()) {
    cut_step(step, texts > kMostStepTexts ? kShortText : submit::kMostLineBytes);
    texts += step.submit_line().size() + step.command().size();
    bytes += step.ByteSizeLong();
    if (bytes > kMostBytesOfJob) break;
    ++kept;
  }
  accounted.mutable_steps()->DeleteSubrange(kept, accounted.steps_size() - kept);
}

// Moves the list out of an answer and sends it in parts. `once` removes from the message what
// only the first part must have.
template <typename List, typename Once>
void deal_out(rpc::ServerMessage& message, List& list, size_t most, const Once& once,
              const std::function<void(rpc::ServerMessage& part, bool more)>& send) {
  std::remove_reference_t<List> all;
  all.Swap(&list);
  size_t bytes = 0;
  for (auto& record : all) {
    const size_t size = record.ByteSizeLong() + kRecordHeadBytes;
    if (bytes != 0 && bytes + size > most) {
      send(message, true);
      list.Clear();
      once();
      bytes = 0;
    }
    bytes += size;
    list.Add()->Swap(&record);
  }
  send(message, false);
}

void remove_keys(google::protobuf::RepeatedPtrField<StepRecord>& steps) {
  for (StepRecord& step : steps) step.clear_key();
}

}  // namespace

void remove_secrets(rpc::ServerMessage& message) {
  switch (message.body_case()) {
    case rpc::ServerMessage::kSteps:
      return remove_keys(*message.mutable_steps()->mutable_steps());
    case rpc::ServerMessage::kStepUsage:
      for (api::StepUsage& usage : *message.mutable_step_usage()->mutable_steps())
        usage.mutable_step()->clear_key();
      return;
    case rpc::ServerMessage::kAccounting:
      for (api::AccountedJob& job : *message.mutable_accounting()->mutable_jobs())
        remove_keys(*job.mutable_steps());
      return;
    case rpc::ServerMessage::kStep:
      if (api::StepEvent& event = *message.mutable_step(); event.has_started()) {
        event.mutable_started()->mutable_step()->clear_key();
      } else if (event.has_ended()) {
        event.mutable_ended()->mutable_step()->clear_key();
      }
      return;
    default:
      return;
  }
}

void cut_texts(rpc::ServerMessage& message) {
  switch (message.body_case()) {
    case rpc::ServerMessage::kJobs:
      for (JobRecord& job : *message.mutable_jobs()->mutable_jobs()) cut_job(job);
      return;
    case rpc::ServerMessage::kWaitJob:
      cut_job(*message.mutable_wait_job()->mutable_job());
      for (JobRecord& job : *message.mutable_wait_job()->mutable_het_components()) cut_job(job);
      return;
    case rpc::ServerMessage::kSteps:
      for (StepRecord& step : *message.mutable_steps()->mutable_steps()) cut_step(step);
      return;
    case rpc::ServerMessage::kStepUsage:
      for (api::StepUsage& usage : *message.mutable_step_usage()->mutable_steps())
        cut_step(*usage.mutable_step());
      return;
    case rpc::ServerMessage::kAccounting:
      for (api::AccountedJob& job : *message.mutable_accounting()->mutable_jobs()) cut_accounted(job);
      return;
    case rpc::ServerMessage::kMeasurements:
      for (api::JobMeasurement& job : *message.mutable_measurements()->mutable_jobs())
        cut_job(*job.mutable_job());
      return;
    case rpc::ServerMessage::kExplanation:
      return cut_job(*message.mutable_explanation()->mutable_job());
    default:
      return;
  }
}

void send_in_parts(rpc::ServerMessage& message, size_t most,
                   const std::function<void(rpc::ServerMessage& part, bool more)>& send) {
  if (message.ByteSizeLong() <= most) return send(message, false);
  const auto nothing = [] {};
  switch (message.body_case()) {
    case rpc::ServerMessage::kJobs:
      return deal_out(message, *message.mutable_jobs()->mutable_jobs(), most, nothing, send);
    case rpc::ServerMessage::kSteps:
      return deal_out(message, *message.mutable_steps()->mutable_steps(), most, nothing, send);
    case rpc::ServerMessage::kStepUsage:
      return deal_out(message, *message.mutable_step_usage()->mutable_steps(), most, nothing, send);
    case rpc::ServerMessage::kAccounting:
      return deal_out(message, *message.mutable_accounting()->mutable_jobs(), most, nothing, send);
    case rpc::ServerMessage::kNodes:
      return deal_out(message, *message.mutable_nodes()->mutable_nodes(), most, nothing, send);
    case rpc::ServerMessage::kPids:
      return deal_out(message, *message.mutable_pids()->mutable_processes(), most, nothing, send);
    case rpc::ServerMessage::kReservations:
      return deal_out(message, *message.mutable_reservations()->mutable_reservations(), most, nothing, send);
    case rpc::ServerMessage::kAction:
      return deal_out(
          message, *message.mutable_action()->mutable_failures(), most,
          [&] { message.mutable_action()->clear_changed(); }, send);
    case rpc::ServerMessage::kPriorities:
      return deal_out(
          message, *message.mutable_priorities()->mutable_jobs(), most,
          [&] { message.mutable_priorities()->clear_weights(); }, send);
    case rpc::ServerMessage::kMeasurements:
      return deal_out(
          message, *message.mutable_measurements()->mutable_jobs(), most,
          [&] {
            message.mutable_measurements()->clear_machine();
            message.mutable_measurements()->clear_counts();
          },
          send);
    default:
      return send(message, false);
  }
}

}  // namespace minke::engine
