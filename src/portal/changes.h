// Changes: follows the queue while somebody looks, and tells what has changed, once for all who look. The
// thread sleeps for good while nobody does.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

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
  // Compares with the last look, and tells the difference. The first one tells what has happened since somebody looks.
  void tell_difference(const QueueNow& queue);

  Queue& queue_;
  const Tell tell_;
  std::mutex mutex_;
  std::condition_variable wake_;
  size_t listeners_ = 0;
  bool ends_ = false, was_lost_ = false;
  std::unordered_map<uint32_t, uint64_t> last_;  // by job: a hash of what pages show
  bool has_last_ = false;
  std::atomic<int64_t> since_ = 0;  // when the first of those who look came, s since the epoch
  std::thread thread_;
};

}  // namespace minke::portal
