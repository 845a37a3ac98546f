// Errors as values. Result<T> holds a T or an Error; Status is a Result of nothing.
//
// Use it if the cause is outside this program: users' input, files, the network, other processes. A broken
// invariant of our own is not an Error: it ends the program with MINKE_CHECK, loudly and at once.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace minke {

struct Error {
  int code = 0;         // a Slurm error number (model/error.h), an errno, or 0 if only the words matter
  std::string message;  // one line, for the person who can act on it; no full stop, no trailing newline
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> failure(std::string message, int code = 0) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

// `what`: strerror(error_number), with error_number as the code.
tl::unexpected<Error> failure_from_errno(const std::string& what, int error_number);

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace minke

#define MINKE_CHECK(expression) \
  (static_cast<bool>(expression) ? void(0) : ::minke::check_failed(#expression, __FILE__, __LINE__))
