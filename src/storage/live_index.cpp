#include "storage/live_index.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "os/fd.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

using std::chrono::steady_clock;

constexpr unsigned kTold = FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_MODIFY |
                           FAN_CLOSE_WRITE | FAN_ATTRIB | FAN_ONDIR;
constexpr unsigned kMask = STATX_TYPE | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_BLOCKS;
constexpr auto kQuiet = std::chrono::milliseconds(100);     // after which changes are read
constexpr auto kLongest = std::chrono::milliseconds(1000);  // also without such a pause
constexpr size_t kForeignKept = 64 << 10;                   // directories of others that need no second look
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct Key {  // of an inode
  uint64_t device = 0, inode = 0;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const { return (key.inode * 0x9E3779B97F4A7C15u) ^ key.device; }
};
Key key_of(const struct statx& status) {
  return {makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
}
Amount amount_of(const struct statx& status) {
  return {status.stx_blocks * 512, S_ISREG(status.stx_mode) ? status.stx_size : 0, 1};
}

// The content of one directory, without that of its subdirectories; itself included.
struct Content {
  Amount own;
  std::vector<Key> children;
  std::vector<std::pair<Key, Amount>> linked;  // files with several names: one for each name
};

struct Node {
  uint32_t root = 0;
  Key parent;
  Amount own;
  std::vector<Key> children, linked;
};
struct Linked {
  uint32_t root = 0, names = 0;
  Amount amount;
};

void subtract(Amount& from, const Amount& what) {
  from.space -= what.space;
  from.bytes -= what.bytes;
  from.entries -= what.entries;
}

// Reads a tree, or (`below` false) one directory of it.
class Reader : public Visitor {
 public:
  struct Note : Directory::Note {
    Key key, parent;
    std::mutex mutex;  // several workers may be in one directory
    Content content;
  };
  // `top`: whether it begins at a root.
  Reader(bool below, bool top) : below_(below), top_(top) {}
  std::vector<std::unique_ptr<Note>> read;

  bool enter(unsigned, Directory& directory, const struct statx& status) override {
    if (directory.parent() != nullptr) {
      if (top_ && directory.depth() == 1 && directory.name() == ".snapshots") return false;
      Note& above = static_cast<Note&>(*directory.parent()->note);
      {
        const std::lock_guard lock(above.mutex);
        above.content.children.push_back(key_of(status));
      }
      if (!below_) return false;
    }
    auto note = std::make_unique<Note>();
    note->key = key_of(status);
    if (directory.parent() != nullptr) note->parent = static_cast<Note&>(*directory.parent()->note).key;
    note->content.own = amount_of(status);
    directory.note = std::move(note);
    return true;
  }
  void visit(unsigned, Directory& in, const char*, const struct statx& status) override {
    Note& note = static_cast<Note&>(*in.note);
    const std::lock_guard lock(note.mutex);
    if (status.stx_nlink > 1) {
      note.content.linked.emplace_back(key_of(status), amount_of(status));
    } else {
      note.content.own += amount_of(status);
    }
  }
  void leave(unsigned, Directory& directory) override {
    const std::lock_guard lock(mutex_);
    read.push_back(std::unique_ptr<Note>(static_cast<Note*>(directory.note.release())));
  }
  void failed(unsigned, const std::string&, int) override {}

 private:
  bool below_, top_;
  std::mutex mutex_;
};

class Index : public LiveIndex {
 public:
  Status start(const std::vector<std::string>& roots) {
    roots_.resize(roots.size());
    events_.reset(::fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE |
                                      FAN_REPORT_DIR_FID | FAN_REPORT_NAME,
                                  O_RDONLY));
    if (!events_) return failure_from_errno("the kernel does not tell what changes", errno);
    for (size_t i = 0; i < roots.size(); ++i) {
      roots_[i].path = roots[i];
      roots_[i].fd.reset(::open(roots[i].c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!roots_[i].fd) continue;
      // Watches first, then counts: nothing is missed.
      if (::fanotify_mark(events_.get(), FAN_MARK_ADD | FAN_MARK_FILESYSTEM, kTold, roots_[i].fd.get(),
                          nullptr) != 0)
        return failure_from_errno(roots[i] + ": the kernel does not tell what changes", errno);
    }
    count_all();
    return {};
  }

  bool follow(int milliseconds, int until) override {
    const auto end = steady_clock::now() + std::chrono::milliseconds(milliseconds);
    auto first = steady_clock::now();
    for (;;) {
      pollfd ready[] = {{events_.get(), POLLIN, 0}, {until, 0, 0}};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
      const bool some = !changed_.empty() || overflow_;
      if (!some && left.count() < 0) return false;
      // Spends at most a tenth of the time on reading again.
      const auto rest =
          std::chrono::duration_cast<std::chrono::milliseconds>(read_ + 10 * taken_ - steady_clock::now());
      const auto wait = some ? std::max(kQuiet, rest) : left;
      const int count = ::poll(ready, 2, static_cast<int>(std::max<int64_t>(0, wait.count())));
      if (count < 0 || ready[1].revents != 0) return false;
      if (count > 0) {
        if (!some) first = steady_clock::now();
        take_events();
      }
      const bool ready_now = count == 0 || steady_clock::now() - first > kLongest;
      if ((!changed_.empty() || overflow_) && ready_now && steady_clock::now() >= read_ + 10 * taken_) {
        const auto begin = steady_clock::now();
        const bool other = take_in();
        read_ = steady_clock::now();
        taken_ = read_ - begin;
        return other;
      }
      if (count == 0 && !some) return false;
    }
  }

  std::optional<Amount> amount(size_t root) const override {
    return roots_[root].counted ? std::optional(roots_[root].total) : std::nullopt;
  }

 private:
  struct Root {
    std::string path;
    os::UniqueFd fd;
    Amount total;
    bool counted = false;
    Key key;
  };

  void count_all() {
    nodes_.clear();
    linked_.clear();
    foreign_.clear();
    changed_.clear();
    overflow_ = false;
    for (uint32_t i = 0; i < roots_.size(); ++i) {
      Root& root = roots_[i];
      root.total = {};
      if (!root.fd) continue;
      struct statx status {};
      if (::statx(root.fd.get(), "", AT_EMPTY_PATH, kMask, &status) != 0) continue;
      root.key = key_of(status);
      root.counted = true;
      add_tree(i, root.fd.get(), {});
    }
  }

  void add_tree(uint32_t root, int directory, Key parent) {
    Reader reader(true, parent.inode == 0);
    (void)walk_tree(directory, roots_[root].path, {.mask = kMask, .one_file_system = true}, reader);
    foreign_.clear();                                        // it may have been one of those
    for (const auto& note : reader.read) remove(note->key);  // it was somewhere else before
    for (const auto& note : reader.read) {
      Node node{root, note->parent.inode == 0 ? parent : note->parent, {}, {}, {}};
      put(node, note->content);
      nodes_[note->key] = std::move(node);
    }
  }

  void put(Node& node, Content& content) {
    node.own = content.own;
    roots_[node.root].total += content.own;
    node.children = std::move(content.children);
    for (const auto& [key, amount] : content.linked) {
      Linked& file = linked_[key];
      if (file.names == 0) {
        file.root = node.root;
      } else {
        subtract(roots_[file.root].total, file.amount);
      }
      ++file.names;
      file.amount = amount;
      roots_[file.root].total += amount;
      node.linked.push_back(key);
    }
  }

  void take_out(Node& node) {
    subtract(roots_[node.root].total, node.own);
    node.own = {};
    for (const Key& key : node.linked) {
      const auto file = linked_.find(key);
      if (file == linked_.end() || --file->second.names > 0) continue;
      subtract(roots_[file->second.root].total, file->second.amount);
      linked_.erase(file);
    }
    node.linked.clear();
  }

  // Removes it with everything below.
  void remove(const Key& key) {
    std::vector<Key> going{key};
    while (!going.empty()) {
      const auto node = nodes_.find(going.back());
      going.pop_back();
      if (node == nodes_.end()) continue;
      take_out(node->second);
      for (const Key& child : node->second.children) {
        const auto below = nodes_.find(child);
        if (below != nodes_.end() && below->second.parent == node->first) going.push_back(child);
      }
      nodes_.erase(node);
    }
  }

  void take_events() {
    char buffer[64 << 10];
    for (;;) {
      const ssize_t got = ::read(events_.get(), buffer, sizeof buffer);
      if (got <= 0) return;
      // The kernel does not align what follows the first event.
      std::string_view rest(buffer, static_cast<size_t>(got));
      fanotify_event_metadata event;
      while (rest.size() >= sizeof event) {
        std::memcpy(&event, rest.data(), sizeof event);
        if (event.event_len < sizeof event || event.event_len > rest.size()) break;
        if ((event.mask & FAN_Q_OVERFLOW) != 0) overflow_ = true;
        if (event.fd >= 0) ::close(event.fd);
        if (event.metadata_len <= event.event_len)
          take_places(rest.substr(event.metadata_len, event.event_len - event.metadata_len));
        rest.remove_prefix(event.event_len);
      }
    }
  }

  // The records of one event.
  void take_places(std::string_view records) {
    fanotify_event_info_header header;
    while (records.size() >= sizeof header) {
      std::memcpy(&header, records.data(), sizeof header);
      if (header.len < sizeof header || header.len > records.size()) break;
      if (header.info_type == FAN_EVENT_INFO_TYPE_DFID_NAME || header.info_type == FAN_EVENT_INFO_TYPE_DFID)
        note_change(records.data() + offsetof(fanotify_event_info_fid, handle), header.len);
      records.remove_prefix(header.len);
    }
  }

  // `place`: a struct file_handle.
  void note_change(const char* place, size_t most) {
    uint32_t bytes = 0;
    std::memcpy(&bytes, place, sizeof bytes);
    if (bytes > MAX_HANDLE_SZ || bytes + sizeof(file_handle) > most) return;
    std::string handle(place, sizeof(file_handle) + bytes);
    if (!foreign_.contains(handle)) changed_.insert(std::move(handle));
  }

  os::UniqueFd opened(const std::string& handle) {
    alignas(file_handle) char copy[sizeof(file_handle) + MAX_HANDLE_SZ];
    std::memcpy(copy, handle.data(), handle.size());
    // Tries a directory of each file system; the wrong ones do not know the handle, or give another inode.
    std::set<uint64_t> tried;
    for (const Root& root : roots_) {
      if (!root.fd || !tried.insert(root.key.device).second) continue;
      os::UniqueFd fd(
          ::open_by_handle_at(root.fd.get(), reinterpret_cast<file_handle*>(copy), kDirectoryFlags));
      if (fd) return fd;
    }
    return {};
  }

  bool take_in() {
    if (overflow_) {
      count_all();
      return true;
    }
    bool other = false;
    const auto changed = std::exchange(changed_, {});
    for (const std::string& handle : changed) {
      const os::UniqueFd fd = opened(handle);
      struct statx status {};
      if (!fd || ::statx(fd.get(), "", AT_EMPTY_PATH, kMask, &status) != 0)
        continue;  // gone: its parent reports it
      const Key key = key_of(status);
      const auto node = nodes_.find(key);
      if (node == nodes_.end()) {
        if (foreign_.size() >= kForeignKept) foreign_.clear();
        foreign_.insert(handle);
        continue;
      }
      other = true;
      read_again(key, fd.get());
    }
    return other;
  }

  void read_again(const Key& key, int directory) {
    const Root& of = roots_[nodes_.at(key).root];
    Reader reader(false, key == of.key);
    (void)walk_tree(directory, of.path, {.threads = 1, .mask = kMask, .one_file_system = true}, reader);
    if (reader.read.empty()) return;
    Node& node = nodes_.at(key);
    const uint32_t root = node.root;
    std::vector<Key> before = std::move(node.children);
    take_out(node);
    put(node, reader.read.back()->content);
    const std::unordered_set<Key, KeyHash> now(node.children.begin(), node.children.end());
    std::vector<Key> fresh;
    for (const Key& child : now) {
      const auto known = nodes_.find(child);
      if (known == nodes_.end() || known->second.parent != key) fresh.push_back(child);
    }
    for (const Key& child : before) {
      const auto known = nodes_.find(child);
      if (!now.contains(child) && known != nodes_.end() && known->second.parent == key) remove(child);
    }
    if (!fresh.empty()) add_children(root, directory, key, fresh);
  }

  // Adds directories that are new here, or came from elsewhere with all their content.
  void add_children(uint32_t root, int directory, const Key& parent, const std::vector<Key>& fresh) {
    struct Finder : Visitor {
      const std::vector<Key>& wanted;
      std::function<void(Directory&)> found;
      explicit Finder(const std::vector<Key>& keys) : wanted(keys) {}
      bool enter(unsigned, Directory& entered, const struct statx& status) override {
        if (entered.parent() == nullptr) return true;
        if (std::find(wanted.begin(), wanted.end(), key_of(status)) != wanted.end()) found(entered);
        return false;
      }
      void visit(unsigned, Directory&, const char*, const struct statx&) override {}
      void failed(unsigned, const std::string&, int) override {}
    } finder(fresh);
    finder.found = [&](Directory& child) { add_tree(root, child.fd(), parent); };
    (void)walk_tree(directory, roots_[root].path, {.threads = 1, .mask = kMask, .one_file_system = true},
                    finder);
  }

  os::UniqueFd events_;
  std::vector<Root> roots_;
  std::unordered_map<Key, Node, KeyHash> nodes_;
  std::unordered_map<Key, Linked, KeyHash> linked_;
  std::unordered_set<std::string> changed_, foreign_;
  steady_clock::duration taken_{};   // by the last reading
  steady_clock::time_point read_{};  // when it ended
  bool overflow_ = false;
};

}  // namespace

Result<std::unique_ptr<LiveIndex>> LiveIndex::open(const std::vector<std::string>& roots) {
  auto index = std::make_unique<Index>();
  if (const Status started = index->start(roots); !started) return failure(started.error());
  return index;
}

}  // namespace minke::storage
