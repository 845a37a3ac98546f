// The process management interface of one step, for MPICH, Intel MPI and similar: PMI-1 and PMI-2.
//
// Ranks put keys, wait for each other at a barrier (in PMI-2: a fence), and get the others' keys. A rank's
// first line tells its version. A value can be read at once after a put; the standard requires only "after
// the barrier". Unsupported commands (spawning processes) are answered with an error. A line that is not a
// command of the protocol ends that rank's conversation, and no other.
//
// Pure: takes bytes from a rank, returns bytes for ranks. One thread.
//
// The wire. PMI-1: lines of NAME=VALUE words, "cmd=get kvsname=K key=X\n". PMI-2: after the first line,
// messages of NAME=VALUE; with their length in six characters before them, and ';' in values doubled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minke::mpi {

// Returns which ranks share a node, in the form that both versions publish as PMI_process_mapping:
// "(vector,(0,2,4))" is 4 ranks on each of nodes 0 and 1.
std::string process_mapping(const std::vector<uint32_t>& node_of_rank);

struct PmiAbort {
  uint32_t rank = 0;
  int exit_code = 1;
  std::string message;
};

class PmiSpace {
 public:
  // `job_id` names the key-value space; no blanks. `node_of_rank` is not empty.
  PmiSpace(std::string job_id, std::vector<uint32_t> node_of_rank);

  struct Output {
    uint32_t rank = 0;
    std::string bytes;
  };
  // Takes bytes that `rank` sent, in any pieces. Returns false if it broke the protocol; its connection
  // must then be closed.
  [[nodiscard]] bool receive(uint32_t rank, std::string_view bytes, std::vector<Output>& out);

  bool initialised(uint32_t rank) const { return ranks_[rank].initialised; }
  bool finalised(uint32_t rank) const { return ranks_[rank].finalised; }
  const std::optional<PmiAbort>& aborted() const { return aborted_; }
  uint32_t size() const { return static_cast<uint32_t>(ranks_.size()); }

 private:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  struct Waiting {  // for an attribute that another rank of the node will put
    std::string key;
    std::string thread;
  };
  struct Rank {
    int version = 0;  // 0: not known yet
    bool initialised = false;
    bool finalised = false;
    bool at_barrier = false;
    bool in_spawn = false;  // PMI-1: lines up to "endcmd" belong to a spawn request
    std::string thread;     // PMI-2: of the fence that it waits in
    std::string buffer;
    std::vector<Waiting> waiting;
  };

  bool take_line(uint32_t rank, std::string_view line, std::vector<Output>& out);
  bool command_1(uint32_t rank, const Fields& fields, std::vector<Output>& out);
  bool kvs_command_1(uint32_t rank, std::string_view command, const Fields& fields, std::vector<Output>& out);
  bool name_command_1(uint32_t rank, std::string_view command, const Fields& fields,
                      std::vector<Output>& out);
  bool command_2(uint32_t rank, const Fields& fields, std::vector<Output>& out);
  bool kvs_command_2(uint32_t rank, std::string_view command, const Fields& fields, std::vector<Output>& out);
  void enter_barrier(uint32_t rank, std::vector<Output>& out);
  void put_node_attribute(uint32_t rank, const std::string& key, const std::string& value,
                          std::vector<Output>& out);
  bool put(std::map<std::string, std::string>& to, const std::string& key, const std::string& value);
  std::optional<std::string> job_attribute(std::string_view key) const;

  std::string job_id_;
  std::vector<uint32_t> node_of_rank_;
  std::vector<Rank> ranks_;
  uint32_t at_barrier_ = 0;
  size_t stored_bytes_ = 0;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> names_;  // published ports
  std::map<std::pair<uint32_t, std::string>, std::string> node_attributes_;
  std::optional<PmiAbort> aborted_;
};

}  // namespace minke::mpi
