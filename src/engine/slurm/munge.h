// Credentials of munge, which a Slurm's hosts trust one another by: who sealed a text, and that nobody has
// changed it. By the programs munge and unmunge. A credential can be opened once, within five minutes.
// Blocking; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace minke::engine::slurm {

class Munge {
 public:
  // `socket`: of munged; empty: where munge has it.
  explicit Munge(std::string socket) : socket_(std::move(socket)) {}

  // `reader`: only this user can open it.
  Result<std::string> seal(const std::string& text, std::optional<uint32_t> reader) const;
  struct Opened {
    uint32_t uid = 0;  // who sealed it
    std::string text;
  };
  Result<Opened> open(const std::string& credential) const;

 private:
  Result<std::string> run(const std::string& name, std::vector<std::string> words,
                          const std::string& input) const;

  std::string socket_;
};

}  // namespace minke::engine::slurm
