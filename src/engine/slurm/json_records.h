// Reads what a command prints with --json as it comes: one record after the other of one list, none of the
// rest. What is kept at a time is one record. One thread.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace minke::engine::slurm {

// Where the text comes from: the next bytes, 0 at its end.
using NextBytes = std::function<Result<size_t>(char* buffer, size_t size)>;

// Of {"jobs": [ {...}, ...], ...} the records of `list`, "jobs". An error of `take` ends it and is returned.
// Errors: it is no JSON; a record is too large or too deep; the list is missing (ENOENT).
Status read_json_records(const NextBytes& next, const std::string& list,
                         const std::function<Status(const nlohmann::json& record)>& take);

}  // namespace minke::engine::slurm
