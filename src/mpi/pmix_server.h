// The PMIx server of one step. The library (libpmix) is loaded when the first step needs it, so that the
// program runs without it; a build without its header has no such server.
//
// All ranks are on this machine and clients of this one server; the map of the namespace and PMIX_HOSTNAME
// tell which virtual node each belongs to. A process can have one such server at a time. Its callbacks come
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

// A step's ranks, in the form for its MPI library.
struct StepMap {
  std::string job_id;                     // "12.0"
  std::vector<std::string> node_of_rank;  // not empty

  std::vector<uint32_t> node_numbers() const;  // by rank, from 0 in the order in which they appear
};

class PmixServer {
 public:
  // Called on a thread of the library.
  using OnAbort = std::function<void(PmiAbort)>;

  // Whether the library can be loaded; the error says what is missing.
  static Status available();
  // `directory` is empty and our own, for the library's files. Fails if the library refuses.
  static Result<std::unique_ptr<PmixServer>> start(const StepMap& map, const std::string& directory,
                                                   OnAbort on_abort);
  virtual ~PmixServer() = default;

  virtual Result<std::vector<std::string>> environment(uint32_t rank) = 0;  // NAME=VALUE
  // Whether it connected and then ended without finalising.
  virtual bool unfinished(uint32_t rank) = 0;
};

}  // namespace minke::mpi
