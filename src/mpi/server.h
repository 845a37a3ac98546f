// The server of srun for the MPI library of a step's tasks: PMI-1 and PMI-2 (pmi_space.h), or
// PMIx (pmix_server.h).
//
// Each task begins as `minke task`, which connects to an abstract Unix socket of this server, sends its rank,
// gets variables for its environment, and executes the user's program. With PMI the connection stays: it is
// PMI_FD. The server answers only after begin() has given it the places of the ranks.
//
// The server has a thread of its own; the public functions belong to the thread that started it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "mpi/pmi_space.h"
#include "mpi/pmix_server.h"
#include "os/fd.h"

namespace minke::mpi {

enum class Kind { kPmi, kPmix };

class Server {
 public:
  static Result<std::unique_ptr<Server>> start(Kind kind);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return address_; }  // for connect_rank()
  // Call it once, when the step's tasks have their places.
  Status begin(StepMap map);
  // The rank's process has ended. Returns whether others wait for it: it used MPI and has not finalised it.
  bool left_others(uint32_t rank);
  // Readable once a rank has called for the step's end.
  int abort_descriptor() const { return aborted_.get(); }
  PmiAbort take_abort();

 private:
  struct Connection;
  explicit Server(Kind kind);
  void serve();
  void accept_connections();
  bool read_from(Connection& connection);
  bool write_to(Connection& connection);
  bool introduce(Connection& connection);
  void note_abort(PmiAbort abort);

  Kind kind_;
  std::string address_;
  std::string directory_;  // PMIx's files; empty: none
  os::UniqueFd listener_, wake_, aborted_;
  std::thread thread_;
  std::mutex mutex_;  // guards what follows
  bool stop_ = false;
  std::optional<StepMap> map_;
  std::unique_ptr<PmiSpace> space_;
  std::unique_ptr<PmixServer> pmix_;
  std::optional<PmiAbort> abort_;
  std::vector<std::unique_ptr<Connection>> connections_;  // used only by the server's thread
};

// The task's side. With kPmi the variables name a descriptor of this process, which the program inherits.
// Blocking. Fails if the server does not exist any more.
Result<std::vector<std::string>> connect_rank(const std::string& address, uint32_t rank);

}  // namespace minke::mpi
