// The PMIx server of one step. The library (libpmix) is loaded when the first step asks for it, so that the
// program runs without it; a build without its header has none.
//
// All ranks are on this machine and clients of this one server; which virtual node each belongs to is in the
// map of the namespace and in PMIX_HOSTNAME. A process can have one such server at a time. Its callbacks come
// on the library's own threads; the public functions belong to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "mpi/pmi_space.h"

namespace minke::mpi {

// A step's ranks, as its MPI library is to see them.
struct StepMap {
  std::string job_id;                     // "12.0"
  std::vector<std::string> node_of_rank;  // not empty

  std::vector<uint32_t> node_numbers() const;  // by rank, from 0 in the order in which they appear
};

class PmixServer {
 public:
  // Called on a thread of the library.
  using OnAbort = std::function<void(PmiAbort)>;

  // Whether there is a library to load; the error says what is missing.
  static Status available();
  // `directory`: an empty one of our own, for the library's files. Errors: what the library refused.
  static Result<std::unique_ptr<PmixServer>> start(const StepMap& map, const std::string& directory,
                                                   OnAbort on_abort);
  virtual ~PmixServer() = default;

  virtual Result<std::vector<std::string>> environment(uint32_t rank) = 0;  // NAME=VALUE
  // Whether it connected and then ended without saying so.
  virtual bool unfinished(uint32_t rank) = 0;
};

}  // namespace minke::mpi
