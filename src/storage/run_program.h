// Runs another program and waits for it: no shell, standard input from /dev/null. Blocking; any thread.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::storage {

// Discards standard output. Errors: ENOENT (not installed), ECANCELED (`stop` ended it), or code 0 with the
// last lines that it wrote to standard error, as one.
Status run_program(const std::vector<std::string>& words, const std::atomic<bool>* stop = nullptr);

// Whether it is on PATH. A link of Minke's that answers in its place does not count.
bool is_installed(const std::string& program);

}  // namespace minke::storage
