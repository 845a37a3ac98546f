// Jobs from the store for a long answer, as fast as its client reads: the next chunk is read when what the
// one before made has been read.
//
// State's thread; the store's reader only posts to it. When this ends, so does the reading.
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
  // Called in pieces of the answer, with each chunk in its order; the one after the last is empty. After an
  // error, and where it says false, nothing more comes.
  using Take = std::function<bool(Result<std::vector<store::AccountedJob>>& chunk)>;
  StoredJobs(Core& core, LongAnswer& answer, store::AccountingQuery query, Take take);

 private:
  struct Reading;
  std::shared_ptr<Reading> reading_;
};

}  // namespace minke::engine
