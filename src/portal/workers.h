// Workers: a few threads, each with an engine of its own, for what must wait for the cluster. They are
// started as they are needed, and sleep at rest. Work that does not fit into the line is refused at once.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"

namespace minke::engine {
class Engine;
}  // namespace minke::engine

namespace minke::portal {

class Workers {
 public:
  // Gets the thread's engine, or why there is none.
  using Work = std::function<void(const Result<engine::Engine*>& cluster)>;

  // Without `opens_cluster`: for what must wait for something else.
  explicit Workers(size_t most, bool opens_cluster = true) : most_(most), opens_cluster_(opens_cluster) {}
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Returns false if too much waits already.
  bool add(Work work);

 private:
  void serve();

  const size_t most_;
  const bool opens_cluster_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> waiting_;
  size_t idle_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

// Opens the cluster that this process uses; keeps it until it fails for good. Of one thread.
class OwnEngine {
 public:
  OwnEngine();
  ~OwnEngine();
  Result<engine::Engine*> get();

 private:
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace minke::portal
