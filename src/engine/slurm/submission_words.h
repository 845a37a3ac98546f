// A job specification as the words of the cluster's own sbatch, and what that answers. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::api {
class SubmitReply;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
class JobSpec;
}  // namespace minke::model

namespace minke::engine::slurm {

// The options alone, without the command's name and the script. What was not asked for gives no word, so that
// the cluster's own defaults hold.
std::vector<std::string> sbatch_options(const model::JobSpec& spec);

// What marks a submission in the job's comment: "minke:" and the key in hexadecimal digits.
std::string submission_mark(std::string_view key);
// The user's comment with the mark behind it.
std::string marked_comment(const std::string& comment, const std::string& mark);
bool has_mark(const model::JobRecord& job, const std::string& mark);

// "1234" or "1234;cluster" of --parsable.
Result<uint32_t> submitted_job(std::string_view answer);
// "sbatch: Job 12 to start at 2026-11-23T13:00:00 using 1 processors on nodes n1 in partition main" of
// --test-only; local time.
Result<api::SubmitReply> tested_job(std::string_view answer, int64_t now);

}  // namespace minke::engine::slurm
