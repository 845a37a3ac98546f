// Changes: follows the queue while somebody looks, and tells what has changed, once for all who look. The
// thread sleeps for good while nobody does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "portal/queue_difference.h"

namespace minke::portal {

class Queue;
struct QueueNow;

class Changes {
 public:
  // Called in the thread of this object: an event's name and its data, JSON.
  using Tell = std::function<void(std::string name, std::string data)>;

  Changes(Queue& queue, Tell tell);
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  // How many look. Any thread.
  void set_listeners(size_t count);

 private:
  void follow();
  // `came`: when the first of those who look did. The first look tells what has happened since.
  void tell(const QueueNow& queue, std::chrono::steady_clock::time_point came);

  Queue& queue_;
  const Tell tell_;
  std::mutex mutex_;
  std::condition_variable wake_;
  size_t listeners_ = 0;
  bool ends_ = false, was_lost_ = false;
  std::chrono::steady_clock::time_point came_;
  QueueDifference difference_;
  std::thread thread_;
};

}  // namespace minke::portal
