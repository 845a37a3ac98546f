#include "engine/embedded/answers/stored_jobs.h"

#include <utility>

#include "engine/embedded/core.h"
#include "store/job_row.h"
#include "store/store.h"

namespace minke::engine {

using Chunk = Result<std::vector<store::AccountedJob>>;

struct StoredJobs::Reading : std::enable_shared_from_this<Reading> {
  Reading(LongAnswer& of, Take what) : answer(of), take(std::move(what)) {}
  LongAnswer& answer;
  Take take;
  std::unique_ptr<store::Store::Reading> source;

  void received(const std::shared_ptr<Chunk>& chunk) {
    answer.next([weak = weak_from_this(), chunk] {
      const auto self = weak.lock();
      if (!self) return;
      const bool more = *chunk && !(*chunk)->empty();
      if (!self->take(*chunk) || !more) return;
      self->answer.next([weak] {
        if (const auto still = weak.lock(); still && still->source) still->source->next();
      });
    });
  }
};

StoredJobs::StoredJobs(Core& core, LongAnswer& answer, store::AccountingQuery query, Take take)
    : reading_(std::make_shared<Reading>(answer, std::move(take))) {
  reading_->source = core.store.read(
      std::move(query), [&loop = core.loop, weak = std::weak_ptr<Reading>(reading_)](Chunk chunk) {
        loop.post([weak, chunk = std::make_shared<Chunk>(std::move(chunk))] {
          if (const auto self = weak.lock()) self->received(chunk);
        });
      });
}

}  // namespace minke::engine
