// Passes bytes between two sockets both ways, as fast as each side takes them, until both directions have
// ended, one fails, or nothing has passed for long. Of the thread of its io_context.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace minke::portal {

template <typename A, typename B>
class BytePipe : public std::enable_shared_from_this<BytePipe<A, B>> {
 public:
  // Takes both sockets.
  BytePipe(A a, B b, std::chrono::seconds idle)
      : a_(std::move(a)), b_(std::move(b)), timer_(a_.get_executor()), idle_(idle) {}

  // `to_a` and `to_b` go first. `done` is called once, at the end.
  void run(std::string to_a, std::string to_b, std::function<void()> done) {
    done_ = std::move(done);
    last_ = Clock::now();
    watch();
    begin(b_, a_, from_b_, std::move(to_a));
    begin(a_, b_, from_a_, std::move(to_b));
  }

  void close() {
    if (!done_) return;
    boost::system::error_code ignored;
    timer_.cancel();
    a_.close(ignored);
    b_.close(ignored);
    // Whoever hears of it may drop what this stands in.
    const auto done = std::exchange(done_, nullptr);
    done();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;
  using Buffer = std::array<char, 16 * 1024>;

  template <typename From, typename To>
  void begin(From& from, To& to, Buffer& buffer, std::string first) {
    if (first.empty()) return pass(from, to, buffer);
    const auto kept = std::make_shared<const std::string>(std::move(first));
    boost::asio::async_write(
        to, boost::asio::buffer(*kept),
        [self = this->shared_from_this(), &from, &to, &buffer, kept](const Error& error, size_t) {
          if (error) return self->close();
          self->pass(from, to, buffer);
        });
  }

  template <typename From, typename To>
  void pass(From& from, To& to, Buffer& buffer) {
    from.async_read_some(boost::asio::buffer(buffer), [self = this->shared_from_this(), &from, &to, &buffer](
                                                          const Error& error, size_t bytes) {
      if (error == boost::asio::error::eof) return self->end_of(to);
      if (error) return self->close();
      self->last_ = Clock::now();
      boost::asio::async_write(to, boost::asio::buffer(buffer.data(), bytes),
                               [self, &from, &to, &buffer](const Error& failed, size_t) {
                                 if (failed) return self->close();
                                 self->pass(from, to, buffer);
                               });
    });
  }

  template <typename To>
  void end_of(To& to) {
    Error ignored;
    to.shutdown(boost::asio::socket_base::shutdown_send, ignored);
    if (++ended_ == 2) close();
  }

  // Wakes up once in the time that it allows, not with each byte.
  void watch() {
    timer_.expires_at(last_ + idle_);
    timer_.async_wait([self = this->shared_from_this()](const Error& error) {
      if (error) return;
      if (Clock::now() - self->last_ >= self->idle_) return self->close();
      self->watch();
    });
  }

  A a_;
  B b_;
  boost::asio::steady_timer timer_;
  const std::chrono::seconds idle_;
  Buffer from_a_{}, from_b_{};
  int ended_ = 0;
  Clock::time_point last_;
  std::function<void()> done_;
};

}  // namespace minke::portal
