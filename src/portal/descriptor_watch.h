// A descriptor that Asio watches for its owner. For the files that use Boost; of the server's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/descriptor_base.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <memory>

#include "portal/http_server.h"

namespace minke::portal {

// The descriptor is let go of at the end, not closed.
class DescriptorWatch : public HttpServer::Watch {
 public:
  using What = boost::asio::posix::descriptor_base::wait_type;

  DescriptorWatch(boost::asio::io_context& io, int fd, What what, std::function<void()> callback)
      : state_(std::make_shared<State>(io, fd, what, std::move(callback))) {
    arm(state_);
  }
  ~DescriptorWatch() override {
    state_->is_over = true;
    state_->descriptor.release();
  }
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

 private:
  struct State {
    State(boost::asio::io_context& io, int fd, What waited, std::function<void()> call)
        : descriptor(io, fd), what(waited), callback(std::move(call)) {}
    boost::asio::posix::stream_descriptor descriptor;
    const What what;
    const std::function<void()> callback;
    bool is_over = false;
  };
  static void arm(const std::shared_ptr<State>& state) {
    state->descriptor.async_wait(state->what, [state](const boost::system::error_code& error) {
      if (error || state->is_over) return;
      state->callback();
      if (!state->is_over) arm(state);
    });
  }
  const std::shared_ptr<State> state_;
};

}  // namespace minke::portal
