// The people who use a shared portal, as its front knows them: for each one worker, which the door starts
// when he asks for something and which ends when he has not for long. Requests wait here for their workers'
// answers. Of the server's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "os/fd.h"
#include "portal/app_connection.h"
#include "portal/frames.h"
#include "portal/http_server.h"

namespace minke::portal {

class People {
 public:
  // Asks the door for a worker of who has this ticket.
  using Start = std::function<void(const std::string& ticket)>;

  People(HttpServer& server, Start start) : server_(server), start_(std::move(start)) {}

  // Passes a request on; `answer` is called once.
  void ask(uint32_t uid, const std::string& ticket, Frame frame, HttpServer::Answer answer);
  // Asks for a way to an application of his; `connected` is called once.
  void connect(uint32_t uid, const std::string& ticket, const std::string& key,
               std::function<void(Result<AppConnection>)> connected);
  // So many of his pages listen to what changes.
  void set_listeners(uint32_t uid, const std::string& ticket, size_t count);
  // The door's answers.
  void have_worker(const std::string& ticket, os::UniqueFd channel);
  void have_none(const std::string& ticket, const Reply& why);
  // He has no session left.
  void leave(uint32_t uid);

 private:
  struct Person {
    std::string starting;  // the ticket that a worker is being started with
    os::UniqueFd channel;
    std::unique_ptr<HttpServer::Watch> readable, writable;
    std::unique_ptr<FrameReader> frames;
    std::deque<std::string> unsent;
    size_t unsent_bytes = 0, sent_of_first = 0, listeners = 0;
    std::map<uint64_t, HttpServer::Answer> waiting;
    std::map<uint64_t, std::function<void(Result<AppConnection>)>> connecting;
    std::vector<os::UniqueFd> sockets;  // that came for them, in order
    std::chrono::steady_clock::time_point last_used;
  };

  void send(uint32_t uid, Person& person, const std::string& ticket, const Frame& frame);
  void write(uint32_t uid);
  void read(uint32_t uid);
  void take(uint32_t uid, Frame frame);
  void take_connection(uint32_t uid, const Frame& frame);
  // Its worker has ended, or is to.
  void lose(uint32_t uid, const Reply& why);
  void look_for_use();

  HttpServer& server_;
  const Start start_;
  std::map<uint32_t, Person> people_;
  uint64_t last_number_ = 0;
  bool looks_ = false;
};

}  // namespace minke::portal
