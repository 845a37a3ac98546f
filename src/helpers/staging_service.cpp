#include "helpers/staging_service.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "config/helper_settings.h"
#include "helpers/names.h"
#include "helpers/programs.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/pass_descriptors.h"
#include "rpc/socket.h"
#include "storage/archives.h"
#include "storage/shared_cache.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::helpers {

namespace {

constexpr char kSocket[] = "/.stage.sock";  // in the root of jobs' directories
constexpr size_t kMostBytes = 8192;
constexpr size_t kMostOfUser = 4, kMostOfAll = 16;  // requests at the same time
constexpr unsigned kMostSeconds = 2 * 3600;         // for one

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

void answer(int socket, const std::string& text) {
  (void)!::send(socket, text.data(), std::min(text.size(), kMostBytes), MSG_NOSIGNAL);
}

// Runs in a child of its own: a source that hangs delays nobody else.
void serve(int socket, const rpc::Peer& peer, const std::string& tmp_root, uint64_t quota) {
  ::alarm(kMostSeconds);
  pollfd ready{socket, POLLIN, 0};
  if (::poll(&ready, 1, 10'000) != 1) return;
  const auto request = os::receive_packet(socket, kMostBytes);
  if (!request || request->descriptors.size() != 2) return answer(socket, "0 22 that is no request");
  const auto staged = storage::stage_shared(tmp_root,
                                            {.uid = peer.uid,
                                             .source = request->descriptors[0].get(),
                                             .process = rpc::peer_process(peer) ? peer.pid : 0,
                                             .job_directory = request->descriptors[1].get(),
                                             .name = request->bytes},
                                            quota);
  answer(socket, staged ? std::string("1 ") + (staged->cached ? "1 " : "0 ") + staged->content
                        : "0 " + std::to_string(staged.error().code) + " " + staged.error().message);
}

// Unmounts the images of jobs that are gone, in a child of its own. It watches for the removal of a job's
// directory only while there is such an image.
class Tidying {
 public:
  explicit Tidying(std::string tmp_root)
      : tmp_root_(std::move(tmp_root)), events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

  int events() const { return events_.get(); }
  void note_event() {
    char buffer[4096];
    while (::read(events_.get(), buffer, sizeof buffer) > 0) {
    }
    due_ = true;
  }
  void due() { due_ = true; }
  bool wants_time() const { return due_ || child_ != 0; }

  void go_on() {
    constexpr std::chrono::seconds kBetween{1};
    const auto now = std::chrono::steady_clock::now();
    if (!due_ || child_ != 0 || now - last_ < kBetween) return;
    last_ = now;
    // Watches before it looks, so that it misses nothing that happens meanwhile.
    if (watch_ < 0)
      watch_ = ::inotify_add_watch(events_.get(), tmp_root_.c_str(), IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
    due_ = false;
    child_ = ::fork();
    if (child_ == 0) ::_exit(storage::tidy_shared(tmp_root_, first_) > 0 ? 1 : 0);
    first_ = false;
    if (child_ < 0) child_ = 0;
  }

  bool ended(pid_t pid, int status) {
    if (pid != child_) return false;
    child_ = 0;
    const bool none_left = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (none_left && !due_ && watch_ >= 0) {
      ::inotify_rm_watch(events_.get(), watch_);
      watch_ = -1;
    }
    return true;
  }

 private:
  std::string tmp_root_;
  os::UniqueFd events_;
  int watch_ = -1;
  pid_t child_ = 0;
  std::chrono::steady_clock::time_point last_;
  bool due_ = true;
  bool first_ = true;
};

// Listens where everybody may ask. An invalid descriptor means failure, with errno.
os::UniqueFd listen_at(const std::string& path) {
  const auto address = address_of(path);
  os::UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  (void)::unlink(path.c_str());
  if (!address || !listening ||
      ::bind(listening.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::chmod(path.c_str(), 0666) != 0 || ::listen(listening.get(), 128) != 0)
    return {};
  return listening;
}

}  // namespace

// Arguments: the root of jobs' directories; minke.toml. Ends when the daemon does not read
// its output any more.
int stage_server_main(int argc, char** argv) {
  if (argc < 2 || ::geteuid() != 0) return 2;
  const std::string tmp_root = argv[1], path = tmp_root + kSocket;
  const std::string configuration = argc > 2 ? argv[2] : "";
  std::signal(SIGPIPE, SIG_IGN);
  ::setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
  os::raise_descriptor_limit();
  ::umask(0022);
  const os::UniqueFd listening = listen_at(path);
  if (!listening) {
    view::print_error("minke stage-server", path + ": " + std::strerror(errno));
    return 1;
  }
  std::map<pid_t, uid_t> busy;
  Tidying tidying(tmp_root);
  const auto reap = [&] {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (tidying.ended(pid, status)) continue;
      busy.erase(pid);
      tidying.due();  // it may have mounted something
    }
  };
  for (;;) {
    tidying.go_on();
    pollfd ready[] = {{listening.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}, {tidying.events(), POLLIN, 0}};
    // Ended children are collected when a client comes; until then they are few.
    if (::poll(ready, 3, busy.empty() && !tidying.wants_time() ? -1 : 1000) < 0 && errno != EINTR) break;
    reap();
    if (ready[2].revents != 0) tidying.note_event();
    if (ready[1].revents != 0) break;
    if (ready[0].revents == 0) continue;
    const os::UniqueFd socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) continue;
    const rpc::Peer peer = rpc::peer_of(socket.get());
    const auto of_user =
        std::count_if(busy.begin(), busy.end(), [&](const auto& entry) { return entry.second == peer.uid; });
    if (busy.size() >= kMostOfAll || static_cast<size_t>(of_user) >= kMostOfUser) {
      answer(socket.get(), "0 11 too many at the same time");
      continue;
    }
    const pid_t child = ::fork();
    if (child == 0) {
      serve(socket.get(), peer, tmp_root, config::read_helper_settings(configuration).cache_quota);
      ::_exit(0);
    }
    if (child > 0) busy[child] = peer.uid;
  }
  (void)::unlink(path.c_str());
  return 0;
}

namespace {

std::string last_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::optional<storage::Staged> stage_by_server(const std::string& given, const std::string& directory) {
  const std::string path = directory.substr(0, directory.rfind('/')) + kSocket;
  struct stat status {};
  const auto address = address_of(path);
  if (!address || ::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_uid != 0)
    return std::nullopt;
  const std::string name = last_name(given);
  const os::UniqueFd source(::open(given.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const os::UniqueFd own(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const os::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!source || !own || !socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return std::nullopt;
  const int descriptors[] = {source.get(), own.get()};
  if (os::send_bytes(socket.get(), name, descriptors, 0) < 0) return std::nullopt;
  std::string reply(kMostBytes, '\0');
  const ssize_t got = ::recv(socket.get(), reply.data(), reply.size(), 0);
  if (got < 4 || reply[0] != '1') return std::nullopt;
  reply.resize(static_cast<size_t>(got));
  const std::string content = reply.substr(4);
  struct stat staged {};
  if (::lstat(content.c_str(), &staged) != 0) return std::nullopt;
  const bool unpacked =
      ::fstat(source.get(), &status) == 0 && S_ISREG(status.st_mode) && storage::archive_kind(given);
  const std::string to = directory + "/" + (unpacked ? storage::without_suffix(name) : name);
  char target[4096];
  if (::symlink(content.c_str(), to.c_str()) != 0) {
    const ssize_t length = ::readlink(to.c_str(), target, sizeof target);
    if (length < 0 || std::string_view(target, static_cast<size_t>(length)) != content) return std::nullopt;
  }
  return storage::Staged{to, reply[2] == '1'};
}

}  // namespace minke::helpers
