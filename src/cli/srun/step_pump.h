// Moves data between a step's tasks and srun's surroundings: the tasks' output to srun's own streams, srun's
// input to the tasks, and both to and from every sattach.
//
// It has one thread, between start() and finish(), which never waits for a task that does not read. The
// thread that owns the pump calls the other functions.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/attach.pb.h"
#include "api/steps.pb.h"
#include "os/fd.h"
#include "rpc/channel.h"

namespace minke::cli {

// Writes all of it; waits if `fd` is full. Returns false if nobody reads it.
bool write_all(int fd, std::string_view bytes);

// The output of one task, in whole lines, so that lines of several tasks are not mixed; with the task's
// number in front if asked for.
class LineWriter {
 public:
  LineWriter(int to, std::string label, bool whole_lines)
      : to_(to), label_(std::move(label)), whole_lines_(whole_lines || !label_.empty()) {}
  void write(std::string_view bytes);
  void finish();  // writes a last line without its end
  // Negative at first: the target is not known yet.
  bool has_target() const { return to_ >= 0; }
  void set_target(int to) { to_ = to; }

 private:
  int to_;
  std::string label_;
  bool whole_lines_;
  std::string line_;
};

// "  3: " for task 3 of 1000.
std::string task_label(uint32_t task, uint32_t tasks);

class StepPump {
 public:
  ~StepPump() { finish(); }

  // Call before start().
  void add_output(os::UniqueFd from, uint32_t task, bool is_error, LineWriter to);
  void add_input(os::UniqueFd to, uint32_t task);
  void read_input_from(int fd) { input_ = fd; }

  void start();
  // Sets the target of a task's output that was added without one; until then it waits in its pipe. `fd`
  // belongs to the caller, and stays open until finish().
  void direct(uint32_t task, bool is_error, int fd);
  // Connects to a sattach that waits at this socket.
  void attach(std::string socket_path);
  void task_ended(const api::StepTaskExit& exit);
  // The tasks have ended: passes on what they wrote, and ends the thread.
  void finish();

 private:
  struct Output {
    os::UniqueFd from;
    uint32_t task;
    bool is_error;
    LineWriter to;
  };
  struct Input {
    os::UniqueFd to;
    uint32_t task;
    std::string waiting;
    bool at_end = false;  // to be closed once it has what waits
  };
  struct Attached {
    rpc::Channel channel;
    bool gone = false;
  };

  void run();
  std::vector<pollfd> descriptors(bool reads_input) const;
  void serve(const std::vector<pollfd>& waiting);
  void drop_ended();
  void post(std::function<void()> what);
  void do_posted();
  bool read_output(Output& output);  // false: there is no more
  void remember(const api::AttachMessage& message);
  void read_input();
  void end_input();
  void write_input(Input& input);
  void read_attached(Attached& attached);
  void tell_attached(const api::AttachMessage& message);
  bool input_is_wanted() const;

  std::list<Output> outputs_;
  std::list<Input> inputs_;
  std::list<Attached> attached_;
  std::vector<api::StepTaskExit> exits_;
  std::deque<api::AttachMessage> recent_;  // output, for a new sattach
  size_t recent_bytes_ = 0;
  int input_ = -1;
  std::thread thread_;
  os::UniqueFd wake_;
  std::mutex mutex_;  // guards the two below
  std::vector<std::function<void()>> posted_;
  bool finishing_ = false;
};

}  // namespace minke::cli
