// StoredJobs: reads jobs from the store for a long answer, at the speed of its client. It reads the next
// chunk when the client has read what the last one produced.
//
// State's thread; the store's reader thread only posts to it. Its destructor ends the reading.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/embedded/server/flow_control.h"
#include "store/store.h"

namespace minke::engine {

class StoredJobs {
 public:
  // `take` is called in pieces of the answer with each chunk in order; an empty chunk is the last. It is not
  // called again after an error or after it returned false.
  using Take = std::function<bool(Result<std::vector<store::AccountedJob>>& chunk)>;
  StoredJobs(Core& core, LongAnswer& answer, store::AccountingQuery query, Take take);

 private:
  struct Reading;
  std::shared_ptr<Reading> reading_;
};

}  // namespace minke::engine
