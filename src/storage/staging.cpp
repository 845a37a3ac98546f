#include "storage/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <functional>

#include "os/fd.h"
#include "os/files.h"
#include "storage/archives.h"
#include "storage/cache_entries.h"
#include "storage/copy_tree.h"
#include "storage/mounted_image.h"
#include "storage/remove_tree.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

struct Source {
  std::string path, key;                      // absolute; everything that its content depends on
  uint64_t bytes = 0;                         // that the staged form needs, about
  bool is_archive = false, is_image = false;  // of squashfs
  std::string name;                           // in the job's directory
};

Result<Source> look_at(const std::string& given) {
  char resolved[PATH_MAX];
  if (::realpath(given.c_str(), resolved) == nullptr) return failure_from_errno(given, errno);
  Source source{.path = resolved, .key = {}, .name = {}};
  struct statx status {};
  if (::statx(AT_FDCWD, resolved, 0, STATX_BASIC_STATS, &status) != 0)
    return failure_from_errno(given, errno);
  std::string base = given;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  base = base.substr(base.rfind('/') + 1);
  if (base == "." || base == ".." || base.empty()) base = source.path.substr(source.path.rfind('/') + 1);
  source.key = source.path + "\n" + std::to_string(status.stx_dev_major) + ":" +
               std::to_string(status.stx_dev_minor) + "\n" + state_of(status) + "\n";
  if (S_ISDIR(status.stx_mode)) {
    Summary summary;
    if (Status walked = walk_tree(source.path, {}, summary); !walked) return failure(walked.error());
    source.key += std::to_string(summary.sum) + "," + std::to_string(summary.entries) + "\n";
    source.bytes = summary.bytes;
    source.name = base;
    return source;
  }
  if (!S_ISREG(status.stx_mode)) return failure(given + ": neither a file nor a directory", EINVAL);
  if (::access(resolved, R_OK) != 0) return failure_from_errno(given, errno);
  const auto kind = archive_kind(source.path);
  source.is_archive = kind.has_value();
  source.is_image = kind == ArchiveKind::kSquashfs;
  source.bytes = status.stx_size * (source.is_archive ? 2 : 1);
  source.name = source.is_archive ? without_suffix(base) : base;
  return source;
}

Status copy(const Source& source, const std::string& to, const std::atomic<bool>* stop, Failures& failures) {
  CopyProgress progress;
  const Status copied = copy_tree(source.path, to, {.sync = false, .stop = stop}, progress);
  failures.add_all(progress.failures);
  return copied;
}

Status bring(const Source& source, const std::string& to, const std::atomic<bool>* stop, Failures& failures) {
  if (source.is_archive) return unpack(source.path, to, stop, {.inner = source.name, .sync = false});
  return copy(source, to, stop, failures);
}

// Mounts an image in the job's directory.
Status mount_at(const std::string& image, const std::string& to) {
  if (::mkdir(to.c_str(), 0755) != 0) return failure(to + ": it is there already", EEXIST);
  Status mounted = ::geteuid() == 0 ? mount_for_job(image, to) : mount_by_squashfuse(image, to);
  if (!mounted) (void)::rmdir(to.c_str());
  return mounted;
}

Status make_read_only(const std::string& path) {
  struct Visit : Visitor {
    void visit(unsigned, Directory& in, const char* name, const struct statx& status) override {
      if (S_ISREG(status.stx_mode)) (void)::fchmodat(in.fd(), name, status.stx_mode & 07555, 0);
    }
    bool enter(unsigned, Directory& directory, const struct statx& status) override {
      (void)::fchmod(directory.fd(), (status.stx_mode & 07555) | 0500);
      return true;
    }
    void failed(unsigned, const std::string&, int) override {}
  } visit;
  return walk_tree(path, {}, visit);
}

// Makes it the job's: notes who uses it, and mounts it, or links to it. Returns false if the entry is not
// there, or only its image is, which cannot be mounted here.
Result<bool> use(const std::string& cache, const std::string& entry, const Source& source,
                 const std::string& directory, const std::string& to, bool mount) {
  const os::UniqueFd lock = locked(cache + "/lock");
  const auto known = os::read_file(entry + "/source", 64 << 10);
  if (!known || *known != source.key) return false;
  const std::string user = user_text(directory);
  if (Status noted = os::replace_file(entry + "/users/" + hex(hash_of(user)), user, 0600); !noted)
    return failure(noted.error());
  (void)::utimensat(AT_FDCWD, entry.c_str(), nullptr, 0);  // used just now
  const std::string image = entry + "/image", content = entry + "/content";
  if (::access(image.c_str(), F_OK) == 0) {
    if (is_mounted(to)) return true;
    const Status mounted = mount ? mount_at(image, to) : failure("a step's mounts would end with it");
    if (mounted) return true;
    if (mounted.error().code == EEXIST) return failure(mounted.error());
    if (::access(content.c_str(), F_OK) != 0) return false;
  }
  if (::symlink(content.c_str(), to.c_str()) == 0) return true;
  char target[PATH_MAX];
  const ssize_t length = errno == EEXIST ? ::readlink(to.c_str(), target, sizeof target) : -1;
  if (length > 0 && std::string_view(target, static_cast<size_t>(length)) == content) return true;
  return failure(to + ": it is there already", EEXIST);
}

// Adds unpacked content beside the image, for those who cannot mount it: the image stays for the others.
// The entry is in use.
Status add_content(const std::string& made, const std::string& entry) {
  struct stat status {};
  // Renaming a directory into another writes to it.
  if (::lstat(made.c_str(), &status) != 0 || ::chmod(made.c_str(), status.st_mode | 0200) != 0 ||
      ::rename(made.c_str(), (entry + "/content").c_str()) != 0 ||
      ::chmod((entry + "/content").c_str(), status.st_mode & 07777) != 0)
    return failure_from_errno(entry, errno);
  return {};
}

// An unfinished entry of the cache.
class NewEntry {
 public:
  NewEntry(const Source& source, const StageOptions& options, const std::string& name, Failures& failures)
      : source_(source),
        options_(options),
        entry_(options.cache + "/" + name),
        making_(options.cache + "/.making-" + name),
        failures_(failures) {
    remove(making_);
    const auto known = os::read_file(entry_ + "/source", 64 << 10);
    has_image_ = known && *known == source.key && ::access((entry_ + "/image").c_str(), F_OK) == 0;
    if (!has_image_) remove(entry_);  // another source with the same hash
  }

  // Mounts an image at `to` on the way: only trying shows whether one can be mounted here.
  Status make(const std::string& to) {
    if (Status made = os::make_directories(making_ + "/users", 0700); !made) return made;
    Status done;
    if (source_.is_image && options_.mount && !has_image_) done = bring_image(to);
    if (done && !is_image_) done = bring_content();
    if (done) done = has_image_ ? add_content(making_ + "/content", entry_) : appear();
    if (!done || has_image_) remove(making_);
    return done;
  }

 private:
  static void remove(const std::string& path) {
    Failures ignored;
    (void)remove_tree(AT_FDCWD, path, ignored);
  }

  // Fails only if something is in the way at `to`: an image that cannot be mounted is unpacked.
  Status bring_image(const std::string& to) {
    const std::string image = making_ + "/image";
    if (!copy(source_, image, options_.stop, failures_)) return {};
    if (const Status tried = mount_at(image, to); !tried && tried.error().code == EEXIST) return tried;
    is_image_ = is_mounted(to);
    return {};
  }

  Status bring_content() {
    (void)::unlink((making_ + "/image").c_str());
    const std::string content = making_ + "/content";
    const Status brought = bring(source_, content, options_.stop, failures_);
    return brought ? make_read_only(content) : brought;
  }

  Status appear() {
    if (Status noted = os::replace_file(making_ + "/source", source_.key, 0600); !noted) return noted;
    if (::rename(making_.c_str(), entry_.c_str()) != 0) return failure_from_errno(entry_, errno);
    return {};
  }

  const Source& source_;
  const StageOptions& options_;
  std::string entry_, making_;
  Failures& failures_;
  bool has_image_ = false;  // the entry is there, with an image that cannot be mounted here
  bool is_image_ = false;   // the unfinished entry
};

}  // namespace

Result<Staged> stage(const std::string& given, const std::string& directory, const StageOptions& options,
                     Failures& failures) {
  const std::string& cache = options.cache;
  auto source = look_at(given);
  if (!source) return failure(source.error());
  const std::string to = directory + "/" + source->name;
  const auto fail = [&](const Error& error) {
    return failure(
        error.message.starts_with(to) ? given + " to " + error.message : given + ": " + error.message,
        error.code);
  };
  if (cache.empty()) {
    if (Status brought = bring(*source, to, options.stop, failures); !brought) return fail(brought.error());
    return Staged{to, false};
  }
  const std::string name = hex(hash_of(source->key));
  const auto use_entry = [&] {
    return use(cache, cache + "/" + name, *source, directory, to, options.mount);
  };
  auto used = use_entry();
  if (!used) return fail(used.error());
  if (*used) return Staged{to, true};
  const Filling filling(cache, name);
  used = use_entry();  // another process may have filled it meanwhile
  if (!used) return fail(used.error());
  if (*used) return Staged{to, true};
  evict(cache, source->bytes + source->bytes / 10);
  if (Status made = NewEntry(*source, options, name, failures).make(to); !made) return fail(made.error());
  used = use_entry();
  if (!used) return fail(used.error());
  if (!*used) return failure(given + ": its place in the cache is gone again", EIO);
  return Staged{to, false};
}

}  // namespace minke::storage
