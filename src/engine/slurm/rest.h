// slurmrestd as a source of records, where somebody has said that there is one ([cluster] rest): HTTP over a
// local socket, or to a host and port of a network that is trusted with the token. An answer is read as it
// comes. Blocking; one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/slurm/json_records.h"

namespace minke::engine::slurm {

class Rest {
 public:
  // `address`: a path, or HOST:PORT. `token`: of $SLURM_JWT; empty: the socket is the user's own.
  Rest(std::string address, std::string token) : address_(std::move(address)), token_(std::move(token)) {}

  const std::string& address() const { return address_; }

  // Gets a path, and lets `read` read the body. Errors: ECONNREFUSED, nobody answers there; EACCES, the token
  // is not believed; ETIMEDOUT; EPROTO, it is no answer of slurmrestd's.
  Status get(const std::string& path, const std::function<Status(const NextBytes& next)>& read) const;

 private:
  std::string address_, token_;
};

// The newest interface that slurmrestd of this version serves and whose records are known: "v0.0.42"; empty:
// none.
std::string rest_interface(std::string_view version);

}  // namespace minke::engine::slurm
