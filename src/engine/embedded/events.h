// Events: something happened, and whoever listens is told, at once and in the order in which they were added.
// Who tells knows none of them. State's thread.
#pragma once

#include <vector>

namespace minke::engine {

template <typename Listener>
class Events {
 public:
  // It must outlive this.
  void add(Listener& listener) { listeners_.push_back(&listener); }

  template <typename... Parameters, typename... Arguments>
  void tell(void (Listener::*event)(Parameters...), Arguments&&... arguments) const {
    for (Listener* one : listeners_) (one->*event)(arguments...);
  }

 protected:
  std::vector<Listener*> listeners_;
};

}  // namespace minke::engine
