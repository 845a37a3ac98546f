#include "engine/find_submitted.h"

#include "engine/slurm/marked_jobs.h"
#include "engine/slurm/submission_words.h"

namespace minke::engine {

Result<uint32_t> find_submitted(Engine& cluster, const std::string& key, int64_t from) {
  const auto self = cluster.identity();
  if (!self) return failure(self.error());
  if (self->product != "Slurm") return uint32_t{0};
  const auto found = slurm::find_marked(cluster, slurm::submission_mark(key), from);
  if (!found) return failure(found.error());
  return found->empty() ? 0 : *found->begin();  // the first, where there are two
}

}  // namespace minke::engine
