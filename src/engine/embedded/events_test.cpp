#include "engine/embedded/events.h"

#include <gtest/gtest.h>

#include <string>

namespace minke::engine {
namespace {

struct Listener {
  virtual ~Listener() = default;
  virtual void happened(std::string&, int) {}
  virtual void other() {}
};

struct Writer : Listener {
  explicit Writer(char name) : name_(name) {}
  void happened(std::string& text, int number) override { text += name_ + std::to_string(number); }
  const char name_;
};

TEST(Events, ListenersAreToldInTheOrderInWhichTheyWereAdded) {
  Events<Listener> events;
  Writer first('a'), second('b');
  events.add(second);
  events.add(first);
  std::string text;
  events.tell(&Listener::happened, text, 1);
  EXPECT_EQ(text, "b1a1");
  events.tell(&Listener::other);  // which none of them hears of
  EXPECT_EQ(text, "b1a1");
}

}  // namespace
}  // namespace minke::engine
