// What to do about a refused submission: where the mistake stands, and what to write instead.
//
// It reads the refusal's own words, which are Slurm's, and finds the option in the command line or the
// script, so that it serves refusals of every origin. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "submit/job_request.h"

namespace minke::submit {

// Returns words to stand in parentheses behind the message; empty: nothing is known. "job.sh line 3:
// --time=24h: write 24:00:00, or minutes".
std::string advice(const Invocation& invocation, const std::optional<ScriptFile>& script,
                   std::string_view refusal);

// Puts the advice, if there is any, behind the last line of the text that the command itself says. If that
// line has an explanation in parentheses already, only the place is added to it.
Refusal with_advice(const Invocation& invocation, const std::optional<ScriptFile>& script, Refusal refusal);

// For fronts with names of their own, as minke farm: what the command itself says, with the advice, in one
// line and without the command's name.
std::string plain_refusal(const Invocation& invocation, const std::optional<ScriptFile>& script,
                          const Refusal& refusal);

}  // namespace minke::submit
