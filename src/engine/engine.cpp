#include "engine/engine.h"

namespace minke::engine {

tl::unexpected<Error> Engine::lacks(const std::string& what) {
  auto self = identity();
  if (!self) return failure(std::move(self.error()));
  return failure("the cluster " + self->cluster + " runs " + self->product + ", which does not " + what);
}

}  // namespace minke::engine
