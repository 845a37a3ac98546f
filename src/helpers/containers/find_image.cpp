// Where the files of an image come from. Named containers, and images that cannot be mounted, are unpacked
// into the job's directory, which goes with the job: PLACE/NAME/rootfs beside NAME/environment and
// NAME/workdir. They appear in one step, under a lock; what a killed task has left is removed by the next
// one.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "helpers/containers/image.h"
#include "helpers/containers/oci_layout.h"
#include "os/fd.h"
#include "os/files.h"
#include "storage/failures.h"
#include "storage/remove_tree.h"
#include "storage/run_program.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

constexpr size_t kMostSettings = size_t{1} << 20;

enum class Kind { kDirectory, kSquashfs, kLayout, kArchive };

struct Source {
  Kind kind = Kind::kDirectory;
  std::string path, tag;
  uint64_t offset = 0;
};

// "oci:/DIR:TAG": the tag is behind the last colon, unless the path itself has one.
void split_tag(std::string_view text, Source& source) {
  source.path = text;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find('/', colon) != std::string_view::npos ||
      ::access(source.path.c_str(), F_OK) == 0)
    return;
  source.path = text.substr(0, colon);
  source.tag = text.substr(colon + 1);
}

Result<Source> source_of(const std::string& image) {
  Source source;
  if (image.starts_with("oci:")) {
    source.kind = Kind::kLayout;
    split_tag(std::string_view(image).substr(4), source);
    return source;
  }
  if (image.starts_with("oci-archive:")) {
    source.kind = Kind::kArchive;
    split_tag(std::string_view(image).substr(12), source);
    return source;
  }
  source.path = image;
  struct stat status {};
  if (::stat(image.c_str(), &status) != 0) return failure_from_errno(image, errno);
  if (S_ISDIR(status.st_mode)) {
    if (::access((image + "/index.json").c_str(), F_OK) == 0) source.kind = Kind::kLayout;
    return source;
  }
  std::string bytes(size_t{256} << 10, '\0');
  const os::UniqueFd file(::open(image.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t got = file ? ::pread(file.get(), bytes.data(), bytes.size(), 0) : -1;
  if (got < 0) return failure_from_errno(image, errno);
  bytes.resize(static_cast<size_t>(got));
  source.kind = Kind::kSquashfs;
  if (bytes.starts_with("hsqs")) return source;
  if (const auto offset = squashfs_in_sif(bytes)) {
    source.offset = *offset;
    return source;
  }
  return failure(image +
                     ": it is no squashfs file, as enroot makes it, no Apptainer file with one, and no "
                     "directory",
                 EINVAL);
}

void remove(const std::string& path) {
  storage::Failures ignored;
  (void)storage::remove_tree(AT_FDCWD, path, ignored);
}

Status make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failure_from_errno(path, errno);
  return {};
}

Status unpack_squashfs(const Source& source, const std::string& to) {
  if (!storage::is_installed("unsquashfs"))
    return failure("an image of squashfs needs squashfuse, or unsquashfs: apt install squashfuse", ENOENT);
  if (const Status made = make_directory(to); !made) return made;
  return work_confined(to, [&] {
    return storage::run_program({"unsquashfs", "-quiet", "-no-progress", "-no-xattrs", "-no-exit-code",
                                 "-force", "-dest", to, "-offset", std::to_string(source.offset),
                                 source.path});
  });
}

// A tree that the container may change is a copy.
Status copy_directory(const Source& source, const std::string& to) {
  if (const Status made = make_directory(to); !made) return made;
  return work_confined(to, [&] {
    return storage::run_program({"cp", "--recursive", "--no-dereference", "--preserve=mode,timestamps,links",
                                 "--reflink=auto", "--", source.path + "/.", to});
  });
}

Status unpack_layout(const std::string& layout, const std::string& tag, const std::string& to,
                     ImageSettings& settings) {
  const auto image = read_oci_layout(layout, tag);
  if (!image) return failure(image.error());
  if (const Status made = make_directory(to); !made) return made;
  settings = image->settings;
  return work_confined(to, [&]() -> Status {
    for (const std::string& layer : image->layers)
      if (const Status applied = apply_layer(layer, to); !applied) return applied;
    return {};
  });
}

Status unpack_archive(const Source& source, const std::string& beside, const std::string& to,
                      ImageSettings& settings) {
  const std::string layout = beside + "/layout";
  if (const Status made = make_directory(layout); !made) return made;
  Status done = work_confined(layout, [&] { return apply_layer(source.path, layout); });
  if (done) done = unpack_layout(layout, source.tag, to, settings);
  remove(layout);
  return done;
}

Status unpack_into(const Source& source, const std::string& directory) {
  const std::string root = directory + "/rootfs";
  ImageSettings settings;
  Status done;
  switch (source.kind) {
    case Kind::kDirectory:
      done = copy_directory(source, root);
      break;
    case Kind::kSquashfs:
      done = unpack_squashfs(source, root);
      break;
    case Kind::kLayout:
      done = unpack_layout(source.path, source.tag, root, settings);
      break;
    case Kind::kArchive:
      done = unpack_archive(source, directory, root, settings);
      break;
  }
  if (!done) return done;
  std::string variables;
  for (const std::string& one : settings.environment) variables.append(one).push_back('\0');
  if (Status written = os::replace_file(directory + "/environment", variables, 0600); !written)
    return written;
  return os::replace_file(directory + "/workdir", settings.work_dir, 0600);
}

ImageFiles files_in(const std::string& directory) {
  ImageFiles files;
  files.directory = directory + "/rootfs";
  if (const auto variables = os::read_file(directory + "/environment", kMostSettings))
    for (const std::string_view one : text::split(*variables, '\0'))
      if (!one.empty()) files.settings.environment.emplace_back(one);
  files.settings.work_dir = os::read_file(directory + "/workdir", kMostSettings).value_or("");
  return files;
}

// Another name for another state of the file.
std::string key_of(const Source& source) {
  struct stat status {};
  (void)::stat((source.kind == Kind::kLayout ? source.path + "/index.json" : source.path).c_str(), &status);
  return "image-" + std::to_string(status.st_dev) + "-" + std::to_string(status.st_ino) + "-" +
         std::to_string(status.st_mtim.tv_sec) + "-" + std::to_string(status.st_mtim.tv_nsec) +
         (source.tag.empty() ? "" : "-" + std::to_string(std::hash<std::string>()(source.tag)));
}

bool can_mount_squashfs() {
  return ::access("/dev/fuse", R_OK | W_OK) == 0 && storage::is_installed("squashfuse");
}

}  // namespace

Result<ImageFiles> find_image(const ImageOptions& options, const std::string& place) {
  Source source;
  if (!options.image.empty()) {
    auto found = source_of(options.image);
    if (!found) return failure(found.error());
    source = std::move(*found);
    if (options.name.empty() && source.kind == Kind::kDirectory)
      return ImageFiles{.directory = source.path, .squashfs = {}, .settings = {}};
    if (options.name.empty() && source.kind == Kind::kSquashfs && can_mount_squashfs())
      return ImageFiles{.directory = {}, .squashfs = source.path, .offset = source.offset, .settings = {}};
  }
  const std::string directory =
      place + "/" + (options.name.empty() ? key_of(source) : "name-" + options.name);
  const os::UniqueFd lock(::open((place + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return failure_from_errno(place + "/lock", errno);
  while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  if (::access(directory.c_str(), F_OK) == 0) return files_in(directory);
  if (options.image.empty())
    return failure("this job has no container named \"" + options.name +
                       "\" yet: the first step that names it gives --container-image too",
                   ENOENT);
  const std::string partial = directory + ".partial";
  remove(partial);
  Status done = make_directory(partial);
  if (done) done = unpack_into(source, partial);
  if (done && ::rename(partial.c_str(), directory.c_str()) != 0) done = failure_from_errno(directory, errno);
  if (done) return files_in(directory);
  remove(partial);
  return failure(done.error());
}

}  // namespace minke::helpers
