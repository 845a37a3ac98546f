#include "portal/app_gate.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "os/files.h"
#include "os/this_program.h"
#include "portal/app_handshake.h"
#include "portal/byte_pipe.h"
#include "portal/sessions.h"

namespace minke::portal {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

constexpr size_t kMostConnections = 256;
constexpr std::chrono::seconds kGreeting{10}, kIdle{24 * 3600};
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr int kNoProgram = 127, kOfSignal = 128;

// The machine where this runs, as the portal knows it. All nodes of Minke's own cluster are the portal's
// machine, however they are called inside their jobs.
std::string own_host(const std::string& portals) {
  const char* cluster = std::getenv("MINKE_CLUSTER");
  if (cluster != nullptr && std::string_view(cluster) == "embedded") return portals;
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

// Where its user alone may go; short, as names of sockets have a bound.
std::string private_directory() {
  std::string name = "/tmp/minke-app-XXXXXX";
  return ::mkdtemp(name.data()) == nullptr ? std::string() : name;
}

class AppGate {
 public:
  explicit AppGate(const AppGateOptions& options)
      : options_(options),
        acceptor_(io_),
        again_(io_),
        look_(io_),
        signals_(io_),
        secret_(random_word() + random_word()) {}

  int run() {
    usual_mask_ = ::umask(077);
    directory_ = private_directory();
    if (directory_.empty()) return complain("/tmp: " + std::string(std::strerror(errno)));
    const int status = run_in_directory();
    ::unlink((options_.session + "/gate.json").c_str());
    ::unlink(socket_path().c_str());
    ::rmdir(directory_.c_str());
    return status;
  }

 private:
  static int complain(const std::string& words) {
    std::fprintf(stderr, "minke app-gate: %s\n", words.c_str());
    return 1;
  }
  std::string socket_path() const { return directory_ + "/app"; }

  int run_in_directory() {
    ::unlink((options_.session + "/gate.json").c_str());
    error_code error;
    if (options_.at_port) app_port_ = free_port();
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) signals_.add(number);
    hear_signals();
    child_ = start();
    if (child_ < 0)
      return complain("the application cannot be started: " + std::string(std::strerror(errno)));
    const bool is_here = options_.host == own_host(options_.host);
    const tcp::endpoint where(is_here ? asio::ip::address_v4::loopback() : asio::ip::address_v4::any(), 0);
    acceptor_.open(where.protocol(), error);
    if (!error) acceptor_.bind(where, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      ::kill(child_, SIGTERM);
      return complain("it cannot listen: " + error.message());
    }
    accept();
    look_for_application();
    io_.run();
    return status_;
  }

  // One that was free a moment ago.
  uint16_t free_port() {
    error_code error;
    tcp::acceptor one(io_);
    one.open(tcp::v4(), error);
    if (!error) one.bind({asio::ip::address_v4::loopback(), 0}, error);
    return error ? 0 : one.local_endpoint(error).port();
  }

  pid_t start() {
    const std::string script = options_.session + "/script.sh",
                      program = os::this_program().value_or("minke");
    std::vector<std::string> own = {"APP_MINKE=" + program};
    if (options_.at_port)
      own.insert(own.end(), {"APP_PORT=" + std::to_string(app_port_), "APP_SECRET=" + secret_});
    else
      own.push_back("APP_SOCKET=" + socket_path());
    const pid_t gate = ::getpid(), child = ::fork();
    if (child != 0) return child;
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::umask(usual_mask_);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != gate) ::_exit(kNoProgram);
    for (std::string& one : own) ::putenv(one.data());
    ::execl("/bin/bash", "bash", script.c_str(), nullptr);
    ::_exit(kNoProgram);
  }

  void hear_signals() {
    signals_.async_wait([this](const error_code& error, int number) {
      if (error) return;
      int status = 0;
      if (number != SIGCHLD) {
        if (child_ > 0) ::kill(child_, SIGTERM);
      } else if (child_ > 0 && ::waitpid(child_, &status, WNOHANG) == child_) {
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : kOfSignal + WTERMSIG(status);
        return io_.stop();
      }
      hear_signals();
    });
  }

  template <typename Use>
  void reach_application(Use use) {
    if (options_.at_port) {
      const auto socket = std::make_shared<tcp::socket>(io_);
      socket->async_connect({asio::ip::address_v4::loopback(), app_port_},
                            [socket, use](const error_code& error) { use(error, std::move(*socket)); });
    } else {
      const auto socket = std::make_shared<Local::socket>(io_);
      socket->async_connect(Local::endpoint(socket_path()),
                            [socket, use](const error_code& error) { use(error, std::move(*socket)); });
    }
  }

  // Until it listens: then its session is ready.
  void look_for_application() {
    reach_application([this](const error_code& error, auto) {
      if (!error) return tell();
      look_.expires_after(kBetweenLooks);
      look_.async_wait([this](const error_code& stopped) {
        if (!stopped) look_for_application();
      });
    });
  }

  void tell() {
    error_code error;
    const nlohmann::json value = {{"host", own_host(options_.host)},
                                  {"port", acceptor_.local_endpoint(error).port()},
                                  {"secret", secret_}};
    const Status kept = os::replace_file(options_.session + "/gate.json", value.dump() + "\n", 0600);
    if (!kept) complain(kept.error().message);
  }

  void accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error) {
        again_.expires_after(kBetweenLooks);
        return again_.async_wait([this](const error_code& stopped) {
          if (!stopped) accept();
        });
      }
      if (connections_ < kMostConnections) std::make_shared<Guest>(*this, std::move(socket))->greet();
      accept();
    });
  }

  // Somebody who has connected, until he has shown the secret.
  class Guest : public std::enable_shared_from_this<Guest> {
   public:
    Guest(AppGate& gate, tcp::socket socket) : gate_(gate), socket_(std::move(socket)), timer_(gate.io_) {
      ++gate_.connections_;
    }
    ~Guest() { --gate_.connections_; }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

    void greet() {
      timer_.expires_after(kGreeting);
      timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error) self->socket_.close();
      });
      asio::async_read(socket_, asio::buffer(hello_),
                       [self = shared_from_this()](const error_code& error, size_t) {
                         if (error) return self->leave();
                         self->answer();
                       });
    }

   private:
    void leave() {
      error_code ignored;
      timer_.cancel();
      socket_.close(ignored);
    }
    void answer() {
      answer_ = app_answer(gate_.secret_, {hello_.data(), hello_.size()});
      if (answer_.empty()) return leave();
      asio::async_write(
          socket_, asio::buffer(answer_), [self = shared_from_this()](const error_code& error, size_t) {
            if (error) return self->leave();
            asio::async_read(
                self->socket_, asio::buffer(self->proof_), [self](const error_code& failed, size_t) {
                  if (failed || !is_app_proof(self->gate_.secret_, {self->hello_.data(), self->hello_.size()},
                                              self->answer_, {self->proof_.data(), self->proof_.size()}))
                    return self->leave();
                  self->timer_.cancel();
                  self->let_in();
                });
          });
    }
    void let_in() {
      gate_.reach_application([self = shared_from_this()](const error_code& error, auto application) {
        if (error) return self->leave();
        using Application = decltype(application);
        // It counts as a connection until its end.
        std::make_shared<BytePipe<tcp::socket, Application>>(std::move(self->socket_), std::move(application),
                                                             kIdle)
            ->run({}, {}, [self] {});
      });
    }

    AppGate& gate_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    std::array<char, kAppHelloBytes> hello_{};
    std::array<char, kAppProof> proof_{};
    std::string answer_;
  };

  const AppGateOptions options_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer again_, look_;
  asio::signal_set signals_;
  const std::string secret_;
  std::string directory_;
  uint16_t app_port_ = 0;
  pid_t child_ = -1;
  mode_t usual_mask_ = 022;  // the application's
  int status_ = 1;
  size_t connections_ = 0;
};

}  // namespace

int run_app_gate(const AppGateOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  // Guests that are there at the end refer to it.
  static auto* const gate = new AppGate(options);
  return gate->run();
}

}  // namespace minke::portal
