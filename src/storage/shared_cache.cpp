#include "storage/shared_cache.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <pwd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "os/confine_self.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/pipe.h"
#include "os/subordinate_ids.h"
#include "os/user_child.h"
#include "storage/archives.h"
#include "storage/cache_entries.h"
#include "storage/checked_file.h"
#include "storage/copy_tree.h"
#include "storage/mounted_image.h"
#include "storage/words.h"
#include "text/number.h"

namespace minke::storage {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr size_t kMostSaid = 4096;
constexpr std::chrono::minutes kMostTime{60};  // for one thing that is brought
constexpr size_t kMostImages = 16;             // of one user, mounted: each needs a device of the kernel

// Gives these users, and nobody else but root, access to a directory of root's.
Status let_in(const std::string& directory, std::vector<uid_t> users) {
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  struct Entry {
    uint16_t tag, permissions;
    uint32_t id;
  };
  constexpr uint16_t kOwner = 1, kUser = 2, kGroup = 4, kMask = 16, kOthers = 32;
  constexpr uint32_t kNobody = ~uint32_t{0}, kVersion = 2;
  std::vector<Entry> entries = {{kOwner, 7, kNobody}};
  for (const uid_t user : users) entries.push_back({kUser, 5, user});
  entries.insert(entries.end(), {{kGroup, 0, kNobody}, {kMask, 5, kNobody}, {kOthers, 0, kNobody}});
  std::string value(sizeof kVersion + entries.size() * sizeof(Entry), '\0');
  std::memcpy(value.data(), &kVersion, sizeof kVersion);
  std::memcpy(value.data() + sizeof kVersion, entries.data(), entries.size() * sizeof(Entry));
  if (::lsetxattr(directory.c_str(), "system.posix_acl_access", value.data(), value.size(), 0) != 0)
    return failure_from_errno(directory, errno);
  return {};
}

// Returns a user id that nobody has.
std::optional<uid_t> stranger() {
  for (uid_t uid = 61183; uid > 60600; --uid)
    if (::getpwuid(uid) == nullptr && !os::is_subordinate(uid)) return uid;
  return std::nullopt;
}

// Returns the job's directory, if it is one: its user's, in the root of jobs' directories.
Result<std::string> job_directory(const std::string& tmp_root, const SharedRequest& request) {
  const auto refused = [] { return failure("that is no directory of a job of yours", EACCES); };
  struct stat own {
  }, above{}, root{};
  const os::UniqueFd parent(::openat(request.job_directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fstat(request.job_directory, &own) != 0 || ::fstat(parent.get(), &above) != 0 ||
      ::stat(tmp_root.c_str(), &root) != 0)
    return refused();
  if (!S_ISDIR(own.st_mode) || own.st_uid != request.uid || above.st_ino != root.st_ino ||
      above.st_dev != root.st_dev || root.st_uid != 0 || (root.st_mode & 0022) != 0)
    return refused();
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(request.job_directory);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
  if (length <= 0 || static_cast<size_t>(length) == sizeof path) return refused();
  std::string found(path, static_cast<size_t>(length));
  // Users have other directories there, too, which do not go with a job.
  const std::string_view name = std::string_view(found).substr(found.rfind('/') + 1);
  const bool of_job = name.starts_with("job") && text::parse_unsigned(name.substr(3), UINT32_MAX).has_value();
  return of_job ? Result<std::string>(std::move(found)) : refused();
}

// Runs it in a child with only the stranger's rights, as long as `goes_on`.
Status as_stranger(uid_t uid, const std::function<bool()>& goes_on, const std::function<Status()>& work) {
  const os::ChildLimits limits{.time = kMostTime, .bytes = kMostSaid + 32, .goes_on = goes_on};
  const auto ended = os::run_in_child(os::Rights{uid, uid, {}}, limits, [&](int answer) {
    ::umask(0077);
    if (!os::confine_self({uid, static_cast<gid_t>(uid)})) return 1;
    const Status done = work();
    if (done) return 0;
    const std::string said =
        std::to_string(done.error().code) + " " + done.error().message.substr(0, kMostSaid);
    (void)!::write(answer, said.data(), said.size());
    return 1;
  });
  if (!ended) return failure(ended.error().message, ended.error().code);
  if (ended->exit_code == 0) return {};
  const std::string& said = ended->said;
  const size_t space = said.find(' ');
  return failure(space == std::string::npos ? "it failed" : said.substr(space + 1), std::atoi(said.c_str()));
}

// Gives all of it to root: those with access may read it, and nobody may change it.
Status hand_to_root(const std::string& path) {
  struct Visit : Visitor {
    std::atomic<int> error{0};
    void visit(unsigned, Directory& in, const char* name, const struct statx& status) override {
      if (::fchownat(in.fd(), name, 0, 0, AT_SYMLINK_NOFOLLOW) != 0) error = errno;
      const mode_t mode = (status.stx_mode & 0111) != 0 ? 0555 : 0444;
      // Pipes too: one user's writes would reach another as data.
      if (!S_ISLNK(status.stx_mode) && !S_ISDIR(status.stx_mode) && ::fchmodat(in.fd(), name, mode, 0) != 0)
        error = errno;
    }
    bool enter(unsigned, Directory& directory, const struct statx&) override {
      if (::fchown(directory.fd(), 0, 0) != 0 || ::fchmod(directory.fd(), 0555) != 0) error = errno;
      return true;
    }
    void failed(unsigned, const std::string&, int number) override { error = number; }
  } visit;
  if (Status walked = walk_tree(path, {}, visit); !walked) return walked;
  if (visit.error != 0) return failure_from_errno(path, visit.error);
  return {};
}

// ---- images that are mounted

// The process's mount namespace, if the kernel's own root made it: in one that a user made, the user
// controls the paths.
os::UniqueFd namespace_of(pid_t process) {
  os::UniqueFd space(::open(("/proc/" + std::to_string(process) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat there {
  }, here{}, owner{}, own{};
  if (!space || ::fstat(space.get(), &there) != 0 || ::stat("/proc/self/ns/mnt", &here) != 0 ||
      there.st_ino == here.st_ino)
    return {};
  const os::UniqueFd users(::ioctl(space.get(), NS_GET_USERNS));
  if (!users || ::fstat(users.get(), &owner) != 0 || ::stat("/proc/self/ns/user", &own) != 0 ||
      owner.st_ino != own.st_ino)
    return {};
  return space;
}

// Mounts the content, which is mounted here, in another namespace, too.
bool hand_on(const std::string& content, int space) {
  const os::UniqueFd tree(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, content.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree) return false;
  const auto done = os::run_in_child(std::nullopt, {}, [&](int) {
    if (::setns(space, CLONE_NEWNS) != 0) return 1;
    if (is_mounted(content)) return 0;
    constexpr unsigned kFlags = MOVE_MOUNT_F_EMPTY_PATH;
    return ::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, content.c_str(), kFlags) == 0 ? 0 : 1;
  });
  return done && done->exit_code == 0;
}

// Whether the entry's image, if it is one, is mounted here and in the process's namespace, and in those of
// the other processes of its job, which would find an empty directory.
bool mounted_for(const std::string& entry, const SharedRequest& request) {
  const std::string content = entry + "/content";
  if (::access((entry + "/image").c_str(), F_OK) != 0) return true;
  if (!is_mounted(content) && !mount_by_kernel(entry + "/image", content)) return false;
  std::set<ino_t> done;
  for (const pid_t process : processes_of_job(request.process, request.uid)) {
    const os::UniqueFd space = namespace_of(process);
    struct stat status {};
    if (!space || ::fstat(space.get(), &status) != 0 || !done.insert(status.st_ino).second) continue;
    if (!hand_on(content, space.get()) && process == request.process) return false;
  }
  return true;
}

struct Source {
  std::string key;
  uint64_t bytes = 0;
  struct statx status {};
};

Result<Source> look_at(const SharedRequest& request, uid_t nobody) {
  const int flags = ::fcntl(request.source, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY)
    return failure(request.name + ": it is not open for reading", EACCES);
  if (request.name.empty() || request.name.size() > 255 || request.name.find('/') != std::string::npos ||
      request.name == "." || request.name == "..")
    return failure("that is no name", EINVAL);
  Source source;
  struct statx& status = source.status;
  if (::statx(request.source, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0)
    return failure_from_errno(request.name, errno);
  source.key = request.name + "\n" + std::to_string(status.stx_dev_major) + ":" +
               std::to_string(status.stx_dev_minor) + "\n" + state_of(status) + "\n";
  source.bytes = status.stx_size;
  if (S_ISREG(status.stx_mode)) return source;
  if (!S_ISDIR(status.stx_mode)) return failure(request.name + ": neither a file nor a directory", EINVAL);
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  os::UniqueFd &reader = pipe->reader, &writer = pipe->writer;
  const Status looked = as_stranger(nobody, nullptr, [&]() -> Status {
    Summary summary;
    if (Status walked = walk_tree(request.source, request.name, {}, summary); !walked) return walked;
    if (summary.failures > 0) return failure(request.name + ": not everybody may read it", EACCES);
    const uint64_t numbers[] = {summary.sum, summary.bytes, summary.entries};
    if (::write(writer.get(), numbers, sizeof numbers) != sizeof numbers) return failure("pipe", EIO);
    return {};
  });
  if (!looked) return failure(looked.error());
  uint64_t numbers[3];
  if (::read(reader.get(), numbers, sizeof numbers) != sizeof numbers) return failure("pipe", EIO);
  source.key += std::to_string(numbers[0]) + "," + std::to_string(numbers[2]) + "\n";
  source.bytes = numbers[1];
  return source;
}

// Copies a file in the state in which it was checked, and reads it back from the disk.
Status copy_file(const SharedRequest& request, const Source& source, const std::string& to) {
  const os::UniqueFd file(::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
  if (!file) return failure_from_errno(to, errno);
  CheckedFile out(file.get(), 0, nullptr);
  std::string piece(1 << 20, '\0');
  for (uint64_t at = 0; at < source.status.stx_size;) {
    const ssize_t got = ::pread(request.source, piece.data(), piece.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure_from_errno(request.name, got == 0 ? EIO : errno);
    if (Status put = out.write({piece.data(), static_cast<size_t>(got)}); !put) return put;
    at += static_cast<uint64_t>(got);
  }
  if (Status done = out.finish(); !done) return done;
  struct statx after {};
  if (::statx(request.source, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &after) != 0 ||
      state_of(after) != state_of(source.status))
    return failure(request.name + ": it changed while it was read", EIO);
  return {};
}

// The space of a tree: an empty file takes some, too.
uint64_t size_of(const std::string& path) {
  Summary summary;
  (void)walk_tree(path, {.threads = 1}, summary);
  return summary.bytes + summary.entries * 1024;
}

// Whether the unfinished entry is within its bounds. Looking takes at most a tenth of the time.
class Watch {
 public:
  Watch(std::string path, uint64_t most, uint64_t least_free)
      : path_(std::move(path)), most_(most), least_free_(least_free) {}
  bool operator()() {
    const auto begin = Clock::now();
    if (free_bytes(path_) < least_free_) return false;
    if (begin < next_) return true;
    const bool within = size_of(path_) <= most_;
    next_ = Clock::now() + 10 * (Clock::now() - begin);
    return within;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string path_;
  uint64_t most_, least_free_;
  Clock::time_point next_;
};

// An unfinished entry of the cache, in a directory of its own: `work` is the stranger's, who unpacks and
// copies there; `in` has a copy of the file that he reads.
class NewEntry {
 public:
  // `most`: the bytes that it may take.
  NewEntry(const SharedRequest& request, const Source& source, const std::string& making, uid_t nobody,
           uint64_t most)
      : request_(request),
        source_(source),
        making_(making),
        work_(making + "/work"),
        in_(making + "/in"),
        content_(work_ + "/content"),
        nobody_(nobody),
        most_(most) {}

  Status make() {
    if (Status prepared = prepare(); !prepared) return prepared;
    Watch watch(work_, most_, reserve_of(making_));
    const auto within = [&watch] { return watch(); };
    if (S_ISDIR(source_.status.stx_mode)) {
      if (Status copied = copy_directory(within); !copied) return copied;
      return hand_over();
    }
    const std::string copy = in_ + "/" + request_.name;
    if (Status copied = copy_file(request_, source_, copy); !copied) return copied;
    const auto kind = archive_kind(copy);
    if (kind == ArchiveKind::kSquashfs) {
      const auto mounted = mount_image(copy);
      if (!mounted) return failure(mounted.error());
      if (*mounted) return clear_work() ? note_source() : failure_from_errno(making_, errno);
    }
    if (kind) {
      if (Status unpacked = unpack_archive(copy, within); !unpacked) return unpacked;
    } else if (::rename(copy.c_str(), content_.c_str()) != 0) {
      return failure_from_errno(content_, errno);
    }
    return hand_over();
  }

 private:
  using Within = std::function<bool()>;

  Status prepare() const {
    if (Status made = os::make_directories(making_ + "/users", 0700); !made) return made;
    if (::mkdir(work_.c_str(), 0700) != 0 || ::mkdir(in_.c_str(), 0711) != 0 ||
        ::lchown(work_.c_str(), nobody_, nobody_) != 0)
      return failure_from_errno(making_, errno);
    // Nobody else has access to the unfinished entry.
    return let_in(making_, {nobody_});
  }

  tl::unexpected<Error> too_large() const {
    return failure(request_.name + ": it takes more than what is left of your part of the cache", EDQUOT);
  }

  Status copy_directory(const Within& within) const {
    const std::string from = "/proc/self/fd/" + std::to_string(request_.source) + "/.";
    const Status copied = as_stranger(nobody_, within, [&]() -> Status {
      CopyProgress progress;
      return copy_tree(from, content_, {.sync = false}, progress);
    });
    if (copied) return {};
    if (copied.error().code == ECANCELED) return too_large();
    // For example, the tree has something that not everybody may read.
    return failure(request_.name + ": it cannot be shared", EACCES);
  }

  // Returns false if it cannot be mounted here; the copy stays where it was.
  Result<bool> mount_image(const std::string& copy) const {
    const std::string image = making_ + "/image", place = making_ + "/content";
    if (::rename(copy.c_str(), image.c_str()) != 0 || ::mkdir(place.c_str(), 0755) != 0)
      return failure_from_errno(image, errno);
    if (mount_by_kernel(image, place)) return true;
    if (::rmdir(place.c_str()) != 0 || ::rename(image.c_str(), copy.c_str()) != 0)
      return failure_from_errno(image, errno);
    return false;
  }

  Status unpack_archive(const std::string& copy, const Within& within) const {
    const Status unpacked = as_stranger(nobody_, within, [&] {
      return unpack(copy, content_, nullptr, {.inner = without_suffix(request_.name), .sync = false});
    });
    if (!unpacked && unpacked.error().code == ECANCELED) return too_large();
    if (!unpacked) return unpacked;
    if (size_of(content_) > most_) return too_large();
    if (::unlink(copy.c_str()) != 0) return failure_from_errno(copy, errno);
    return {};
  }

  // Gives what the stranger has made to root, as the entry's content.
  Status hand_over() const {
    struct stat status {};
    if (::lstat(content_.c_str(), &status) != 0) return failure_from_errno(content_, errno);
    const bool is_directory = S_ISDIR(status.st_mode);
    if (is_directory)
      if (Status handed = hand_to_root(content_); !handed) return handed;
    const std::string place = making_ + "/content";
    // Renaming a directory writes to it.
    if ((is_directory && ::chmod(content_.c_str(), 0755) != 0) ||
        ::rename(content_.c_str(), place.c_str()) != 0 || !clear_work() ||
        (is_directory && ::chmod(place.c_str(), 0555) != 0))
      return failure_from_errno(making_, errno);
    return note_source();
  }

  bool clear_work() const { return ::rmdir(work_.c_str()) == 0 && ::rmdir(in_.c_str()) == 0; }

  Status note_source() const { return os::replace_file(making_ + "/source", source_.key, 0600); }

  const SharedRequest& request_;
  const Source& source_;
  const std::string& making_;
  std::string work_, in_, content_;
  uid_t nobody_;
  uint64_t most_;
};

// Notes who uses it, and gives access to the users of those jobs. Returns false if the entry is not there.
Result<bool> use(const std::string& cache, const std::string& entry, const std::string& key,
                 const std::string& job, const SharedRequest& request) {
  const os::UniqueFd lock = locked(cache + "/lock");
  const auto known = os::read_file(entry + "/source", 64 << 10);
  if (!known || *known != key) return false;
  const std::string user = user_text(job);
  if (user.empty()) return failure(job + ": it cannot be seen from here", EACCES);
  const std::string note = entry + "/users/" + hex(hash_of(user));
  if (Status noted = os::replace_file(note, user, 0600); !noted) return failure(noted.error());
  if (::lchown(note.c_str(), request.uid, static_cast<gid_t>(-1)) != 0)
    return failure_from_errno(note, errno);
  (void)in_use(entry);  // forgets jobs that are gone
  std::vector<uid_t> users;
  for (const std::string& name : names_in(entry + "/users")) {
    struct stat status {};
    if (::lstat((entry + "/users/" + name).c_str(), &status) == 0) users.push_back(status.st_uid);
  }
  if (Status closed = let_in(entry, users); !closed) return failure(closed.error());
  (void)::utimensat(AT_FDCWD, entry.c_str(), nullptr, 0);  // used just now
  if (!mounted_for(entry, request)) return failure(entry + ": its image cannot be mounted", EIO);
  return true;
}

// Returns the room of the user's part of the cache; first removes entries of the user that no job uses.
Result<uint64_t> room_of(const std::string& cache, const SharedRequest& request, uint64_t least,
                         uint64_t quota) {
  if (quota == 0) quota = total_bytes(cache) / 10;
  const Charge charged = make_room(cache, request.uid, least, quota, kMostImages);
  if (charged.bytes + least > quota || charged.images >= kMostImages)
    return failure(
        request.name + ": your part of the cache of staged data (" + bytes_text(quota) + ") is used", EDQUOT);
  return quota - charged.bytes;
}

// Charges the user, in root's record with the entry: an image takes its own size; a tree is counted.
Status charge(const std::string& making, uid_t uid) {
  struct stat image {};
  const bool mounted = ::lstat((making + "/image").c_str(), &image) == 0;
  const uint64_t bytes =
      mounted ? static_cast<uint64_t>(image.st_blocks) * 512 : size_of(making + "/content");
  return os::replace_file(making + "/charge", std::to_string(uid) + " " + std::to_string(bytes), 0600);
}

}  // namespace

Result<SharedEntry> stage_shared(const std::string& tmp_root, const SharedRequest& request, uint64_t quota) {
  const auto nobody = stranger();
  if (!nobody) return failure("there is no user id that is nobody's", EACCES);
  const auto job = job_directory(tmp_root, request);
  if (!job) return failure(job.error());
  const auto source = look_at(request, *nobody);
  if (!source) return failure(source.error());
  const std::string cache = tmp_root + "/.stage-cache", name = hex(hash_of(source->key));
  if (Status made = os::make_directories(cache, 0711); !made) return failure(made.error());
  const std::string entry = cache + "/" + name, making = cache + "/.making-" + name;
  auto used = use(cache, entry, source->key, *job, request);
  if (!used) return failure(used.error());
  if (*used) return SharedEntry{entry + "/content", true};
  const Filling filling(cache, name);
  used = use(cache, entry, source->key, *job, request);
  if (!used) return failure(used.error());
  if (*used) return SharedEntry{entry + "/content", true};
  // One at a time for each user, so that the remaining quota is known.
  const os::UniqueFd turn = locked(cache + "/.user-" + std::to_string(request.uid));
  const bool tree = S_ISDIR(source->status.stx_mode);
  const auto most = room_of(cache, request, source->bytes * (tree ? 1 : 2), quota);
  if (!most) return failure(most.error());
  const uint64_t needed = source->bytes * (tree ? 11 : 31) / 10 + reserve_of(cache);
  evict(cache, needed);
  if (free_bytes(cache) < needed) return failure(request.name + ": there is no space for it", ENOSPC);
  remove_entry(making);
  remove_entry(entry);  // another source with the same hash
  Status done = NewEntry(request, *source, making, *nobody, *most).make();
  if (done) done = charge(making, request.uid);
  if (done && ::rename(making.c_str(), entry.c_str()) != 0) done = failure_from_errno(entry, errno);
  if (!done) {
    remove_entry(making);
    return failure(done.error());
  }
  used = use(cache, entry, source->key, *job, request);
  if (!used) return failure(used.error());
  if (!*used) return failure(request.name + ": its place in the cache is gone again", EIO);
  return SharedEntry{entry + "/content", false};
}

size_t tidy_shared(const std::string& tmp_root, bool abandoned) {
  const std::string cache = tmp_root + "/.stage-cache";
  if (abandoned) remove_abandoned(cache);
  return unmount_idle(cache);
}

}  // namespace minke::storage
