// The effect of each option on a request: the last column of the option table.
//
// Each takes an Assignment and changes its request, or returns the message and exit status that Slurm has for
// a bad value. Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/job_spec.pb.h"
#include "submit/option_table.h"
#include "text/number.h"

namespace minke::submit::set {

inline constexpr int kUsageStatus = 255;  // Slurm's exit status for most bad values
inline constexpr int kFailureStatus = 1;  // and for numbers, and for values that its controller refuses
inline constexpr uint32_t kMaxNumber = 2147483647;
inline constexpr int kWordStatus =
    -2;  // the option itself is wrong: without "error: ", and with a hint at --help
inline constexpr int kMemoryHelpStatus = -3;  // the same with 255, which --mem-bind=help alone ends with
inline constexpr int kHelpStatus = -1;  // the message is help that was asked for, and the command ends with 1

// Keeps the text unchanged: text<&model::JobSpec::mutable_account>.
template <std::string* (model::JobSpec::*Field)()>
Status text(const Assignment& to) {
  *(to.request.spec.*Field)() = to.text();
  return {};
}

template <std::string JobRequest::*Field>
Status request_text(const Assignment& to) {
  to.request.*Field = to.text();
  return {};
}

// Sets a switch of the request or of the spec.
template <bool JobRequest::*Field>
Status flag(const Assignment& to) {
  to.request.*Field = true;
  return {};
}
template <void (model::JobSpec::*Field)(bool), bool kValue = true>
Status spec_flag(const Assignment& to) {
  (to.request.spec.*Field)(kValue);
  return {};
}

// Returns the content of the file that the value names.
Result<std::string> read_file(const Assignment& to);

// Reads whole numbers of at least `least`. Else: `Invalid numeric value "x" for --name.`, exit status 1.
Result<uint32_t> whole_number(const Assignment& to, uint32_t least);
// What Slurm says of such a number; `name`: "--nodes", "immediate".
tl::unexpected<Error> too_large(std::string_view given, std::string_view name);
tl::unexpected<Error> not_numeric(std::string_view given, std::string_view name);

// Reads the number that a text begins with, as Slurm does for some options: "5x" is 5, "x" is 0. A note tells
// so where that is not all of the text. Too large a number is INT64_MAX.
int64_t leading_number(const Assignment& to);

template <void (model::JobSpec::*Field)(uint32_t), uint32_t kLeast = 1>
Status number(const Assignment& to) {
  auto value = whole_number(to, kLeast);
  if (!value) return failure(value.error());
  (to.request.spec.*Field)(*value);
  return {};
}
// Slurm keeps these in 16 bits: of 65537 one is left, and of 65536 nothing.
template <void (model::JobSpec::*Field)(uint32_t)>
Status short_number(const Assignment& to) {
  auto value = whole_number(to, 1);
  if (!value) return failure(value.error());
  if (const uint32_t kept = *value & 0xffff; kept != 0) (to.request.spec.*Field)(kept);
  return {};
}
// A number that has no effect here; a wrong one is refused as by Slurm.
template <uint32_t kLeast>
Status checked_number(const Assignment& to) {
  auto value = whole_number(to, kLeast);
  return value ? Status() : failure(value.error());
}
template <typename Image, void (Image::*Field)(bool), bool kValue>
Status container_flag(const Assignment& to) {
  (to.request.spec.mutable_container_image()->*Field)(kValue);
  return {};
}
template <std::optional<uint32_t> JobRequest::*Field>
Status request_number(const Assignment& to) {
  auto value = whole_number(to, 0);
  if (!value) return failure(value.error());
  to.request.*Field = *value;
  return {};
}

// The error for values that Slurm's controller checks, with the words that each command puts before it.
tl::unexpected<Error> rejected(const Assignment& to, std::string_view reason);

// `Invalid --name specification`, exit status 255.
tl::unexpected<Error> invalid(const Assignment& to);

// Reads --gres as current releases do.
Result<std::vector<model::Gres>> current_gres_list(std::string_view given);

Status accel_bind(const Assignment& to);
Status compress(const Assignment& to);
Status send_libs(const Assignment& to);
Status treewidth(const Assignment& to);
Status wait_seconds(const Assignment& to);
Status segment(const Assignment& to);
Status x11(const Assignment& to);
Status acctg_freq(const Assignment& to);
Status array(const Assignment& to);
Status begin(const Assignment& to);
Status bell(const Assignment& to);
Status burst_buffer_file(const Assignment& to);
Status chdir(const Assignment& to);
Status clusters(const Assignment& to);
Status constraint(const Assignment& to);
Status container_env(const Assignment& to);
Status container_image(const Assignment& to);
Status container_mounts(const Assignment& to);
Status container_name(const Assignment& to);
Status container_workdir(const Assignment& to);
Status cpu_freq(const Assignment& to);
Status deadline(const Assignment& to);
Status delay_boot(const Assignment& to);
Status dependency(const Assignment& to);
Status distribution(const Assignment& to);
Status exclude(const Assignment& to);
Status exclusive(const Assignment& to);
Status oversubscribe(const Assignment& to);
Status export_file(const Assignment& to);
Status export_list(const Assignment& to);
Status external_launcher(const Assignment& to);
Status extra_node_info(const Assignment& to);
Status get_user_env(const Assignment& to);
Status gpu_bind(const Assignment& to);
Status gpu_freq(const Assignment& to);
Status gpus(const Assignment& to);
Status gpus_per_node(const Assignment& to);
Status gpus_per_socket(const Assignment& to);
Status gpus_per_task(const Assignment& to);
Status gres(const Assignment& to);
Status gres_flags(const Assignment& to);
Status het_group(const Assignment& to);
Status hint(const Assignment& to);
Status ignore_signals(const Assignment& to);
Status immediate(const Assignment& to);
Status job_id(const Assignment& to);
Status kill_command(const Assignment& to);
Status kill_on_bad_exit(const Assignment& to);
Status kill_on_invalid_dependency(const Assignment& to);
Status mail_type(const Assignment& to);
Status mail_user(const Assignment& to);
Status mem(const Assignment& to);
Status mem_update(const Assignment& to);
Status mem_bind(const Assignment& to);
Status mem_per_cpu(const Assignment& to);
Status mem_per_gpu(const Assignment& to);
Status cpu_bind(const Assignment& to);
Status mpi(const Assignment& to);
Status nice(const Assignment& to);
Status no_bell(const Assignment& to);
Status no_kill(const Assignment& to);
Status node_file(const Assignment& to);
Status node_list(const Assignment& to);
Status nodes(const Assignment& to);
Status requeue(const Assignment& to);
Status oom_kill_step(const Assignment& to);
Status open_mode(const Assignment& to);
Status own_group(const Assignment& to);
Status own_user(const Assignment& to);
Status overlap(const Assignment& to);
Status partition(const Assignment& to);
Status wckey(const Assignment& to);
Status power(const Assignment& to);
Status pty(const Assignment& to);
Status priority(const Assignment& to);
Status profile(const Assignment& to);
Status propagate(const Assignment& to);
Status relative(const Assignment& to);
Status reserved_for_system(const Assignment& to);
Status resv_ports(const Assignment& to);
Status signal(const Assignment& to);
Status slurmd_debug(const Assignment& to);
Status stderr_path(const Assignment& to);
Status stdin_path(const Assignment& to);
Status stdout_path(const Assignment& to);
Status switches(const Assignment& to);
Status time(const Assignment& to);
Status time_min(const Assignment& to);
Status tmp(const Assignment& to);
// --tres-bind since 23.02: "gres/gpu:closest", several of them with "+" between.
bool is_tres_bind(std::string_view text);
Status tres_bind(const Assignment& to);
Status tres_per_task(const Assignment& to);
Status verbose(const Assignment& to);
Status wait_all_nodes(const Assignment& to);

}  // namespace minke::submit::set
