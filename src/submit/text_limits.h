// How long the texts of a request may be: one table of all of them.
//
// A text is kept for ever, and shown to everybody by every command that lists jobs. So each has a limit where
// it enters, Slurm's own where Slurm has one, whether it comes with a submission, an update or a step. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::submit {

constexpr size_t kMostScriptBytes = size_t{4} << 20;

// Fails, naming the option and its limit, with Slurm's "Pathname of a file, directory or other parameter too
// long".
Status check_texts(const model::JobSpec& spec);
// Cuts what is too long: of records that an earlier version let in.
void cut_texts(model::JobSpec& spec);
// One text of another request. `name`: of the option, "--job-name".
Status check_text(std::string_view name, std::string_view text, size_t most);

// For those that steps have too.
constexpr size_t kMostNameBytes = 1024, kMostListBytes = size_t{128} << 10, kMostPathBytes = 4096,
                 kMostLineBytes = size_t{1} << 20;

}  // namespace minke::submit
