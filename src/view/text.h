// The values of jobs, nodes and steps as text in squeue, sinfo, sacct and scontrol: the
// small texts they share.
//
// Every function appends to a line in preparation. Other inputs than the value (time, environment) are in
// DisplayContext, which the command reads once, so that the rest is pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/version.h"
#include "model/job_terms.pb.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/tres.h"

namespace minke::model {
class JobRecord;
class JobSpec;
enum JobState : int;
class StepRecord;
}  // namespace minke::model

namespace minke::view {

using text::kUnlimited;  // a time limit or a number of nodes without end

struct DisplayContext {
  int64_t now = 0;              // s since the epoch, the daemon's
  std::string time_format;      // SLURM_TIME_FORMAT: empty or "standard", "relative", or for strftime()
  size_t task_list_limit = 64;  // SLURM_BITSTR_LEN: bytes of a list of array indices; 0: no limit
  bool convert_units = true;    // 2048M reads 2G
  std::string cluster_name;
  int release = kSlurm22;        // of Slurm whose words and fields are shown
  bool expand_patterns = false;  // names of files in place of their patterns
};

// Reads the environment; the caller sets `now` and the cluster's name.
DisplayContext display_context_from_environment();

void append_number(std::string& out, int64_t value);
// Appends 0:00, 1:00:00, 1-12:00:00; INVALID if negative.
void append_elapsed(std::string& out, int64_t seconds);
// 00:00:00, 1-12:00:00.
void append_clock(std::string& out, int64_t seconds);
// Appends 2026-11-21T00:09:10, or in the form of SLURM_TIME_FORMAT; `none` if `time` is 0.
void append_time(std::string& out, int64_t time, const DisplayContext& context,
                 std::string_view none = "N/A");
// 300M, 2G.
void append_mebibytes(std::string& out, uint64_t mebibytes, const DisplayContext& context);
// Appends usage as in sacct and sstat: 2784K, 1.50M, in `unit` if given; bytes if
// nothing is converted.
void append_kibibytes(std::string& out, uint64_t kibibytes, const DisplayContext& context,
                      std::optional<text::Unit> unit = std::nullopt);
void append_bytes(std::string& out, uint64_t bytes, const DisplayContext& context,
                  std::optional<text::Unit> unit = std::nullopt);
void append_or_null(std::string& out, std::string_view text);  // "(null)" where empty

// Appends 12, 12_3, 12_[5-9%2], 12+1 of a heterogeneous job; with `waiting_task` that one of an
// array's pending tasks.
void append_job_id(std::string& out, const model::JobRecord& job, const uint32_t* waiting_task,
                   size_t list_limit);
// Appends 3, 5-9%2, or N/A if the job is not of an array.
void append_task_ids(std::string& out, const model::JobRecord& job, const uint32_t* waiting_task,
                     size_t list_limit);
// Appends 12.0, 12_3.batch; `raw`: with the job id in place of 12_3. A step of a heterogeneous job needs
// its `job`: 12+1.0.
void append_step_id(std::string& out, const model::StepRecord& step, bool raw,
                    const model::JobRecord* job = nullptr);

// afterok:47(unfulfilled),singleton(unfulfilled); "(null)" without any.
void append_dependencies(std::string& out, const model::JobRecord& job);
// Appends gres:gpu:a100:1; `none` if the list is empty.
void append_gres_request(std::string& out, const google::protobuf::RepeatedPtrField<model::Gres>& gres,
                         std::string_view none);
// The same for a request whose words are kept if its amounts alone would not show them.
void append_tres_per(std::string& out, const std::string& given,
                     const google::protobuf::RepeatedPtrField<model::Gres>& gres, std::string_view none);
// Appends gpu:a100:2; "(null)" if the list is empty.
// The same in the words of a release: "gres:gpu:2", or "gres/gpu:2".
std::string tres_in_words(std::string text, int release);
// --cpus-per-task and --gpus-per-task as one list of current releases: "cpu=2,gres/gpu=1"; older ones know
// GPUs alone.
std::string tres_per_task_text(const model::JobSpec& spec, int release);
// --gpu-bind, or what --gpus-per-task implies for current releases; empty: nothing.
std::string tres_bind_text(const model::JobSpec& spec, int release);
// The nodes of a job; the least of a waiting one, as a release works it out.
uint32_t least_nodes(const model::JobRecord& job, int release);
// The most nodes of a waiting job, as a release works it out; 0: as many as the least.
uint32_t most_nodes(const model::JobRecord& job, int release);
// As "1-3,5": the numbers of nodes of which the job may have one; empty where any within a range will do.
std::string node_counts_text(const model::JobSpec& spec);
void append_gres_offer(std::string& out, const google::protobuf::RepeatedPtrField<model::Gres>& gres);
// /path/of/script argument …; "(null)" for --wrap and allocations.
void append_command(std::string& out, const model::JobSpec& spec);
// The extended (COMPLETED) and compact (CD) state, with COMPLETING before all others.
std::string_view state_text(const model::JobRecord& job);
std::string_view state_code(const model::JobRecord& job);
std::string_view reason_text(const model::JobRecord& job);
// Current releases also tell which signal: "RaisedSignal:9(Killed)".
std::string reason_text(const model::JobRecord& job, int release);
std::string_view step_state_text(const model::StepRecord& step);
int64_t step_rank(const model::StepRecord& step);  // in the order in which Slurm lists the steps of a job
std::string user_name_of(uint32_t uid);            // the number if the system knows no name

// Returns what a job requested, or got; and what a step got.
text::TresAmounts tres_of(const model::JobRecord& job);
text::TresAmounts tres_of(const model::StepRecord& step);
// What a job asked for, whatever it has got.
text::TresAmounts requested_tres_of(const model::JobRecord& job);
// Appends cpu=4,mem=2G,node=2,billing=4,gres/gpu=2; `context` and `unit` (if given) format the memory.
void append_tres(std::string& out, const text::TresAmounts& amounts, text::TresOrder order,
                 const DisplayContext& context, std::optional<text::Unit> unit = std::nullopt);

// Returns how many seconds it has run, without suspensions; 0 if it has not started.
int64_t elapsed_seconds(const model::JobRecord& job, int64_t now);
bool is_finished(model::JobState state);
bool is_stopped(const model::JobRecord& job);  // runs, and SIGSTOP holds it
// The job's name; records of short lists have it without their spec.
const std::string& job_name(const model::JobRecord& job);
// Returns when it began, or when it was cancelled while pending. s since the epoch; 0: not yet.
int64_t start_time(const model::JobRecord& job);
// As in accounting: only the batch step has the signal that stopped a job. A wait(2) status.
int32_t accounted_exit_code(const model::JobRecord& job);
// Returns its end, its limit while running, or the end after its expected start; 0 if not known.
int64_t end_time(const model::JobRecord& job);

// Memory of the request as Slurm reports it: per CPU, unless requested per node.
struct MemoryRequest {
  uint64_t mebibytes = 0;
  bool per_cpu = true;
};
MemoryRequest memory_request(const model::JobRecord& job);
uint32_t min_cpus_per_node(const model::JobSpec& spec);
// As requested, or as the CPUs for each GPU of a task add up to.
uint32_t cpus_of_a_task(const model::JobSpec& spec);

// "Sat Nov 21 00:29:56 2026" and a newline: the first line of squeue's and sinfo's long forms.
std::string date_line(int64_t now);

}  // namespace minke::view
