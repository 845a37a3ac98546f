// The process management interface of one step, as MPICH, Intel MPI and their kin speak it: PMI-1 and PMI-2.
//
// Ranks put keys, wait for each other at a barrier (in PMI-2: a fence), and get the others' keys. Which
// version a rank speaks is in its first line. What is put can be got at once; the standard asks for no more
// than "after the barrier". Commands that this cannot do (spawning processes) are answered with an error, and
// what is no command of the protocol ends that rank's conversation, nobody else's.
//
// Pure: bytes of a rank go in, bytes for ranks come out. One thread.
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

// Which ranks share a node, in the form that both versions publish as PMI_process_mapping:
// "(vector,(0,2,4))" is 4 ranks on each of nodes 0 and 1.
std::string process_mapping(const std::vector<uint32_t>& node_of_rank);

struct PmiAbort {
  uint32_t rank = 0;
  int exit_code = 1;
  std::string message;
};

class PmiSpace {
 public:
  // `job_id`: the name of the key-value space; no blanks. `node_of_rank`: not empty.
  PmiSpace(std::string job_id, std::vector<uint32_t> node_of_rank);

  struct Output {
    uint32_t rank = 0;
    std::string bytes;
  };
  // What `rank` sent, in pieces as they come. False: it broke the protocol, and its connection is to be
  // closed.
  [[nodiscard]] bool receive(uint32_t rank, std::string_view bytes, std::vector<Output>& out);

  bool initialised(uint32_t rank) const { return ranks_[rank].initialised; }
  bool finalised(uint32_t rank) const { return ranks_[rank].finalised; }
  const std::optional<PmiAbort>& aborted() const { return aborted_; }
  uint32_t size() const { return static_cast<uint32_t>(ranks_.size()); }

 private:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  struct Waiting {  // for an attribute that another rank of the node is to put
    std::string key;
    std::string thread;
  };
  struct Rank {
    int version = 0;  // 0: not said yet
    bool initialised = false;
    bool finalised = false;
    bool at_barrier = false;
    bool in_spawn = false;  // PMI-1: lines up to "endcmd" belong to a spawn request
    std::string thread;     // PMI-2: of the fence it waits in
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
