// The token in $SLURM_JWT, by which Slurm's commands say who asks where there is one: what is wrong with it.
// A token is three texts in base64 with dots between them; the second is JSON, with the time of its end as
// "exp". Its seal is not looked at: only Slurm can tell. Pure but for token_complaint(); any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::engine::slurm {

// Why Slurm does not believe who has this token, and what to do; empty: there is none. `now`: s since the
// epoch.
std::string complaint_of(std::string_view token, int64_t now);

// The same of the one in this process's environment.
std::string token_complaint();

}  // namespace minke::engine::slurm
