// The parameters of a run, as its script and its arguments state them: what one changes from run to run, and
// compares. "--lr=0.1", "--lr 0.1" and "lr=0.1" (as Hydra has it) on a line that starts a program, variables
// that the script sets or that --export gives, and the task of an array. Names of variables and arguments are
// replaced by their values where these are known. It reads; it runs nothing. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

struct RunParameter {
  std::string name, value;
};

// In the order in which they stand there; of a name that stands there twice, the last. At most 200.
std::vector<RunParameter> run_parameters(const model::JobRecord& job, std::string_view script);

}  // namespace minke::view
