// Events: calls all listeners of an event at once, in the order in which they were added. So the sender of an
// event need not know its receivers. State's thread.
#pragma once

#include <vector>

namespace minke::engine {

template <typename Listener>
class Events {
 public:
  // `listener` must outlive this.
  void add(Listener& listener) { listeners_.push_back(&listener); }

  template <typename... Parameters, typename... Arguments>
  void tell(void (Listener::*event)(Parameters...), Arguments&&... arguments) const {
    for (Listener* one : listeners_) (one->*event)(arguments...);
  }

 protected:
  std::vector<Listener*> listeners_;
};

}  // namespace minke::engine
