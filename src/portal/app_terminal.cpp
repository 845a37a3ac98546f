#include "portal/app_terminal.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <pty.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "portal/assets.h"
#include "portal/compress.h"

namespace minke::portal {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

constexpr size_t kKept = 256 * 1024;        // of what the shell wrote, for pages that come later
constexpr size_t kMostMessage = 64 * 1024;  // of a page's
constexpr size_t kMostWaiting =
    4 * 1024 * 1024;  // for a page that does not read: it is closed, and comes back
constexpr size_t kMostPages = 32;
constexpr int kOfSignal = 128, kNoShell = 127;
constexpr unsigned short kLeastSide = 2, kMostSide = 1000;
constexpr char kNoPage[] =
    "This build of Minke has no pages: Node was not there when it was built. The terminal needs one.\n";
// xterm.js writes its rules for colours into an element of the page.
constexpr char kPolicy[] =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; object-src 'none'; form-action "
    "'none'";

using Text = std::shared_ptr<const std::string>;

class Terminal {
 public:
  class Page;

  Terminal() : acceptor_(io_), shell_(io_), signals_(io_) {}

  int run() {
    const char* place = std::getenv("APP_SOCKET");
    if (place == nullptr) return complain("APP_SOCKET is not set: a job of the portal starts this");
    error_code error;
    acceptor_.open(Local(), error);
    if (!error) acceptor_.bind(Local::endpoint(place), error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return complain(std::string(place) + ": " + error.message());
    signals_.add(SIGCHLD);
    if (!start_shell()) return complain("the shell cannot be started");
    signals_.async_wait([this](const error_code& failed, int) {
      if (!failed) io_.stop();
    });
    accept();
    read_shell();
    io_.run();
    int status = 0;
    ::waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : kOfSignal + WTERMSIG(status);
  }

  void type(std::string keys) {
    if (unsent_.size() + keys.size() > kMostWaiting) return;
    unsent_ += keys;
    if (writing_.empty()) write_shell();
  }

  void resize(unsigned short columns, unsigned short rows) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    ::ioctl(shell_.native_handle(), TIOCSWINSZ, &size);
  }

  std::set<std::shared_ptr<Page>> pages_;
  const std::string& kept() const { return kept_; }

 private:
  static int complain(const std::string& words) {
    std::fprintf(stderr, "minke app-terminal: %s\n", words.c_str());
    return 1;
  }

  bool start_shell() {
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    int master = -1;
    child_ = ::forkpty(&master, nullptr, nullptr, &size);
    if (child_ < 0) return false;
    if (child_ == 0) {
      for (const int one : {SIGCHLD, SIGPIPE, SIGINT, SIGHUP, SIGTERM}) ::signal(one, SIG_DFL);
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::setenv("TERM", "xterm-256color", 1);
      ::unsetenv("APP_SOCKET");
      const char* named = std::getenv("SHELL");
      const passwd* entry = named == nullptr || *named == '\0' ? ::getpwuid(::getuid()) : nullptr;
      const std::string shell = entry != nullptr ? entry->pw_shell : named != nullptr ? named : "/bin/bash";
      const std::string own_name = "-" + shell.substr(shell.rfind('/') + 1);
      ::execl(shell.c_str(), own_name.c_str(), nullptr);
      ::execl("/bin/sh", "-sh", nullptr);
      ::_exit(kNoShell);
    }
    error_code error;
    shell_.assign(master, error);
    return !error;
  }

  void read_shell() {
    shell_.async_read_some(asio::buffer(buffer_), [this](const error_code& error, size_t bytes) {
      if (error) return;  // its end is told by a signal
      tell(std::string(buffer_.data(), bytes));
      read_shell();
    });
  }

  void write_shell() {
    writing_ = std::exchange(unsent_, {});
    asio::async_write(shell_, asio::buffer(writing_), [this](const error_code& error, size_t) {
      writing_.clear();
      if (!error && !unsent_.empty()) write_shell();
    });
  }

  void tell(std::string text);
  void accept();

  asio::io_context io_{1};
  Local::acceptor acceptor_;
  asio::posix::stream_descriptor shell_;
  asio::signal_set signals_;
  pid_t child_ = -1;
  std::array<char, 16 * 1024> buffer_{};
  std::string kept_, unsent_, writing_;
};

// One connection: a file of the page, or the page's way to the shell.
class Terminal::Page : public std::enable_shared_from_this<Page> {
 public:
  Page(Terminal& terminal, Local::socket socket) : terminal_(terminal), stream_(std::move(socket)) {}

  void run() {
    parser_.header_limit(16 * 1024);
    parser_.body_limit(0);
    http::async_read(stream_.next_layer(), buffer_, parser_,
                     [self = shared_from_this()](const error_code& error, size_t) {
                       if (!error) self->answer();
                     });
  }

  void say(const Text& text) {
    if (!is_open_) return;
    waiting_bytes_ += text->size();
    waiting_.push_back(text);
    if (waiting_bytes_ > kMostWaiting) return close();
    if (waiting_.size() == 1) write();
  }

 private:
  void answer() {
    const auto& request = parser_.get();
    std::string path(request.target());
    path = path.substr(0, path.find('?'));
    if (websocket::is_upgrade(request) && path == "/shell") return accept_shell();
    if (path == "/") path = "/terminal.html";
    const bool is_mine =
        request.method() == http::verb::get && (path == "/terminal.html" || path.starts_with("/assets/"));
    const Asset* asset = is_mine ? find_asset(path) : nullptr;
    reply_.version(11);
    reply_.keep_alive(false);
    reply_.result(asset == nullptr ? http::status::not_found : http::status::ok);
    reply_.set(http::field::content_type, asset == nullptr ? "text/plain" : std::string(asset->type));
    reply_.set("Content-Security-Policy", kPolicy);
    reply_.set("X-Content-Type-Options", "nosniff");
    reply_.set(http::field::cache_control,
               path.starts_with("/assets/") ? "private, max-age=31536000, immutable" : "no-cache");
    reply_.body() = asset == nullptr ? (has_front_end() ? "There is no such file.\n" : kNoPage)
                                     : uncompressed(asset->gzip);
    // The session has an address of its own.
    if (path == "/terminal.html")
      for (size_t at = 0; (at = reply_.body().find("\"/", at)) != std::string::npos; ++at)
        reply_.body().erase(at + 1, 1);
    reply_.prepare_payload();
    http::async_write(stream_.next_layer(), reply_, [self = shared_from_this()](const error_code&, size_t) {
      error_code ignored;
      self->stream_.next_layer().shutdown(asio::socket_base::shutdown_both, ignored);
    });
  }

  void accept_shell() {
    if (terminal_.pages_.size() >= kMostPages) return;
    stream_.read_message_max(kMostMessage);
    stream_.set_option(
        websocket::stream_base::timeout{std::chrono::seconds(30), std::chrono::seconds(120), true});
    stream_.async_accept(parser_.get(), [self = shared_from_this()](const error_code& error) {
      if (error) return;
      self->is_open_ = true;
      self->stream_.binary(true);
      self->terminal_.pages_.insert(self);
      if (!self->terminal_.kept().empty())
        self->say(std::make_shared<const std::string>(self->terminal_.kept()));
      self->read();
    });
  }

  void read() {
    stream_.async_read(buffer_, [self = shared_from_this()](const error_code& error, size_t) {
      if (error) return self->close();
      const std::string text = beast::buffers_to_string(self->buffer_.data());
      self->buffer_.consume(self->buffer_.size());
      if (self->stream_.got_text())
        self->have_size(text);
      else
        self->terminal_.type(text);
      self->read();
    });
  }

  // {"columns": 80, "rows": 24}
  void have_size(const std::string& text) {
    const auto value = nlohmann::json::parse(text, nullptr, false);
    const auto side = [&](const char* name) -> uint64_t {
      return value.is_object() && value.contains(name) && value[name].is_number_unsigned()
                 ? value[name].get<uint64_t>()
                 : 0;
    };
    const uint64_t columns = side("columns"), rows = side("rows");
    if (columns < kLeastSide || columns > kMostSide || rows < kLeastSide || rows > kMostSide) return;
    terminal_.resize(static_cast<unsigned short>(columns), static_cast<unsigned short>(rows));
  }

  void write() {
    stream_.async_write(asio::buffer(*waiting_.front()),
                        [self = shared_from_this()](const error_code& error, size_t) {
                          if (error || !self->is_open_) return self->close();
                          self->waiting_bytes_ -= self->waiting_.front()->size();
                          self->waiting_.pop_front();
                          if (!self->waiting_.empty()) self->write();
                        });
  }

  void close() {
    is_open_ = false;
    error_code ignored;
    stream_.next_layer().close(ignored);
    terminal_.pages_.erase(shared_from_this());
  }

  Terminal& terminal_;
  websocket::stream<Local::socket> stream_;
  beast::flat_buffer buffer_;
  http::request_parser<http::string_body> parser_;
  http::response<http::string_body> reply_;
  bool is_open_ = false;
  std::deque<Text> waiting_;  // the first one is being written
  size_t waiting_bytes_ = 0;
};

void Terminal::tell(std::string text) {
  kept_ += text;
  if (kept_.size() > kKept) kept_.erase(0, kept_.size() - kKept / 2);
  const auto shared = std::make_shared<const std::string>(std::move(text));
  const std::set<std::shared_ptr<Page>> pages = pages_;  // one that is told may leave
  for (const auto& page : pages) page->say(shared);
}

void Terminal::accept() {
  acceptor_.async_accept([this](const error_code& error, Local::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) std::make_shared<Page>(*this, std::move(socket))->run();
    accept();
  });
}

}  // namespace

int run_app_terminal() {
  ::signal(SIGPIPE, SIG_IGN);
  static auto* const terminal = new Terminal();  // never destroyed: its pages refer to it
  return terminal->run();
}

}  // namespace minke::portal
