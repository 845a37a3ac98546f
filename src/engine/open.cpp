#include "engine/open.h"

#include "engine/embedded/client.h"

namespace minke::engine {

Result<std::unique_ptr<Engine>> open(Start start) {
  return embedded::Client::connect(start == Start::kWhereNoneRuns);
}

}  // namespace minke::engine
