// Limits on the length of a request's texts: one table for all of them.
//
// A text is kept for ever, and every command that lists jobs shows it to everybody. So each text has a limit
// where it enters, whether by submission, update or step; it is Slurm's own where Slurm has one. Pure.
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
// Cuts texts that are too long, from records that an earlier version accepted.
void cut_texts(model::JobSpec& spec);
// Checks one text of another request. `name` is the option: "--job-name".
Status check_text(std::string_view name, std::string_view text, size_t most);

// The limits of texts that steps have too.
constexpr size_t kMostNameBytes = 1024, kMostListBytes = size_t{128} << 10, kMostPathBytes = 4096,
                 kMostLineBytes = size_t{1} << 20;

}  // namespace minke::submit
