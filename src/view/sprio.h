// The output of sprio: the factors of each pending job's priority.
//
// With priorities by submission there is one factor, the order; Slurm's weighted factors (age, fair share,
// size, partition, QOS) have no weight then. Columns of factors without weight are left out unless asked for,
// as in Slurm. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "view/document/document.h"
#include "view/table.h"
#include "view/text.h"

namespace minke::api {
class JobPriority;
class PriorityWeights;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

struct PriorityLine {
  const model::JobRecord* job = nullptr;  // null: the line of the weights
  std::string_view partition;
  const api::JobPriority* parts = nullptr;  // null: none
  const api::PriorityWeights* weights = nullptr;
};

struct SprioOptions {
  std::optional<std::string> format;
  std::vector<std::string> partitions;
  bool long_list = false;
  bool normalized = false;
  bool weights = false;
  bool show_user = false;  // users were named
  int release = kSlurm22;
};

// Returns a line for each pending job that is not held, and each of its partitions.
std::vector<PriorityLine> priority_lines(std::span<const model::JobRecord* const> jobs,
                                         const SprioOptions& options);
// Names unknown fields in `problems`. Without a format, it has a column for each factor that weighs something
// here; `weights`: null where none does.
Table<PriorityLine> priority_table(const SprioOptions& options, std::vector<std::string>& problems,
                                   const api::PriorityWeights* weights = nullptr);
// The letters of --format, eight a line.
std::string priority_help_format();
void describe_priority(Document& document, const PriorityLine& line, const DisplayContext& context);

}  // namespace minke::view
