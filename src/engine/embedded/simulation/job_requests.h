// Requests for one job, as commands make them.
#pragma once

#include <cstdint>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "rpc/messages.pb.h"

namespace minke::engine::simulation {

inline rpc::ClientMessage cancel(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_signal()->mutable_filter()->add_jobs()->set_job_id(job_id);
  return message;
}
inline rpc::ClientMessage hold(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_hold()->add_jobs()->set_job_id(job_id);
  message.mutable_hold()->set_kind(api::HoldRequest::USER_HOLD);
  return message;
}
inline rpc::ClientMessage release(uint32_t job_id) {
  rpc::ClientMessage message = hold(job_id);
  message.mutable_hold()->set_kind(api::HoldRequest::RELEASE);
  return message;
}
inline rpc::ClientMessage requeue(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_requeue()->add_jobs()->set_job_id(job_id);
  return message;
}
inline rpc::ClientMessage requeue_and_hold(uint32_t job_id) {
  rpc::ClientMessage message = requeue(job_id);
  message.mutable_requeue()->set_hold(true);
  return message;
}
inline rpc::ClientMessage requeue_as_special(uint32_t job_id) {
  rpc::ClientMessage message = requeue_and_hold(job_id);
  message.mutable_requeue()->set_special_exit(true);
  return message;
}
inline rpc::ClientMessage suspend(uint32_t job_id) {
  rpc::ClientMessage message;
  message.mutable_suspend()->add_jobs()->set_job_id(job_id);
  return message;
}
inline rpc::ClientMessage resume(uint32_t job_id) {
  rpc::ClientMessage message = suspend(job_id);
  message.mutable_suspend()->set_resume(true);
  return message;
}

}  // namespace minke::engine::simulation
