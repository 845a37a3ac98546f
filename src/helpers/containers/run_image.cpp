// The root directory of an image's container is put together in this process's own namespaces, from files
// that are opened where the job sees them, before the root changes, and shown at paths that are looked up
// after it has: so a link of the image leads nowhere outside.
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "helpers/containers/fuse_server.h"
#include "helpers/containers/gpu_files.h"
#include "helpers/containers/image.h"
#include "os/fd.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

constexpr char kStartup[] = "/run/slurm/startup";
constexpr char kDriver[] = "/usr/local/nvidia";
constexpr char kUsualPath[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr size_t kMostText = size_t{1} << 20;

// A tree of the job's, cut out to be shown in the container.
struct Shown {
  os::UniqueFd tree;
  std::string target;
  bool directory = false;
  bool optional = false;  // left out where the image has no place for it, and none can be made
};

std::string variable_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Status make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return failure_from_errno(path, errno);
  return {};
}

// Optional ones may be missing.
Status cut_out(const ContainerMount& mount, bool optional, std::vector<Shown>& all) {
  os::UniqueFd tree(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, mount.source.c_str(),
                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (mount.recursive ? AT_RECURSIVE : 0))));
  struct stat status {};
  if (!tree || ::fstat(tree.get(), &status) != 0) {
    if (optional) return {};
    return failure_from_errno("--container-mounts: " + mount.source, errno);
  }
  if (mount.read_only) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH | (mount.recursive ? AT_RECURSIVE : 0),
                  &attributes, sizeof attributes) != 0)
      return failure_from_errno(mount.source + ": it cannot be shown read-only", errno);
  }
  all.push_back({std::move(tree), mount.target, S_ISDIR(status.st_mode), optional});
  return {};
}

ContainerMount mount_of(const std::string& text) {
  const auto parts = text::split(text, ':');
  ContainerMount mount{std::string(parts[0]), std::string(parts.size() > 1 ? parts[1] : parts[0]), false,
                       true};
  for (const std::string_view flag : text::split(parts.size() > 2 ? parts[2] : "", '+')) {
    mount.read_only = mount.read_only || flag == "ro";
    if (flag == "bind") mount.recursive = false;
  }
  return mount;
}

// What every container sees, then what the user names, which may lie within.
Result<std::vector<Shown>> cut_out_all(const ImageOptions& options, const std::string& script,
                                       const std::vector<std::string>& environment) {
  std::vector<Shown> all;
  std::vector<ContainerMount> usual;
  for (const char* path : {"/proc", "/sys", "/dev", "/tmp"}) usual.push_back({path, path, false, true});
  for (const char* path : {"/etc/resolv.conf", "/etc/hosts", "/etc/localtime"})
    usual.push_back({path, path, true, false});
  const std::string tmp_dir = variable_of("SLURM_TMPDIR"), home = variable_of("HOME");
  if (!tmp_dir.empty()) usual.push_back({tmp_dir, tmp_dir, false, true});
  if (options.home && home.size() > 1) usual.push_back({home, home, false, true});
  for (ContainerMount& mount : gpu_mounts(kDriver, environment))
    if (!mount.target.starts_with("/dev/")) usual.push_back(std::move(mount));
  if (!script.empty()) usual.push_back({script, kStartup, true, false});
  for (const ContainerMount& mount : usual)
    if (const Status done = cut_out(mount, true, all); !done) return failure(done.error());
  const std::string of_site = variable_of("MINKE_CONTAINER_MOUNTS");  // [containers] mounts
  for (const std::string_view one : text::split(of_site, ',')) {
    if (one.empty()) continue;
    if (const Status done = cut_out(mount_of(std::string(one)), true, all); !done)
      return failure(done.error());
  }
  for (const std::string& text : options.mounts)
    if (const Status done = cut_out(mount_of(text), false, all); !done) return failure(done.error());
  return all;
}

// In the container's own root.
Status make_mount_point(const std::string& path, bool directory) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (const Status made = make_directory(path.substr(0, slash)); !made) return made;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return {};
  if (directory) return make_directory(path);
  if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) (void)::unlink(path.c_str());
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  return file ? Status() : failure_from_errno(path, errno);
}

Status show(const std::vector<Shown>& all) {
  for (const Shown& one : all) {
    const Status made = make_mount_point(one.target, one.directory);
    if (!made && one.optional) continue;
    if (!made)
      return failure("the image has no place for a mount: " + made.error().message, made.error().code);
    if (::syscall(SYS_move_mount, one.tree.get(), "", AT_FDCWD, one.target.c_str(),
                  MOVE_MOUNT_F_EMPTY_PATH) != 0)
      return failure_from_errno(one.target + ": nothing can be mounted there", errno);
  }
  return {};
}

// The image with a layer in memory above it, in which mount points are made, and what the program writes; a
// named container as it is.
Status mount_root(const ImageFiles& files, bool named, int server, const std::string& at) {
  if (Status made = mount_memory(at, "mode=0755"); !made) return made;
  for (const char* name : {"/lower", "/upper", "/work", "/root"})
    if (Status made = make_directory(at + name); !made) return made;
  if (named) return mount_bound(files.directory, at + "/root", false, true);
  std::string lower = files.directory;
  if (!files.squashfs.empty()) {
    lower = at + "/lower";
    if (Status mounted = mount_served_image(server, lower); !mounted) return mounted;
  } else {
    // A path with a colon or a comma would be several to the kernel.
    lower = at + "/lower";
    if (Status bound = mount_bound(files.directory, lower, true, false); !bound) return bound;
  }
  const std::string options =
      "lowerdir=" + lower + ",upperdir=" + at + "/upper,workdir=" + at + "/work,userxattr";
  if (::mount("overlay", (at + "/root").c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return failure_from_errno("an image needs overlay file systems in user namespaces (Linux 5.11)", errno);
  return {};
}

Status change_root(const std::string& root) {
  if (::chdir(root.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
      ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
    return failure_from_errno("the root directory cannot be changed", errno);
  return {};
}

// Programs ask who they are.
void name_user() {
  const std::string uid = std::to_string(::getuid()), gid = std::to_string(::getgid());
  const auto users = os::read_file("/etc/passwd", kMostText);
  if (!users || users->find(":" + uid + ":") != std::string::npos) return;
  std::string name = variable_of("USER");
  if (name.empty() || name.find_first_of(":\n") != std::string::npos) name = "user";
  const std::string home = variable_of("HOME");
  const os::UniqueFd file(::open("/etc/passwd", O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  const std::string line = (users->empty() || users->ends_with('\n') ? "" : "\n") + name + ":x:" + uid + ":" +
                           gid + "::" + (home.find_first_of(":\n") == std::string::npos ? home : "/") +
                           ":/bin/sh\n";
  if (file) (void)!::write(file.get(), line.data(), line.size());
}

std::string name_of(const std::string& variable) {
  return variable.substr(0, variable.find('='));
}

// The image's variables hold, but for those that the user keeps.
void take_variables(const std::vector<std::string>& of_image, const std::vector<std::string>& keep,
                    std::vector<std::string>& environment) {
  for (const std::string& variable : of_image) {
    const std::string name = name_of(variable);
    const auto same = [&](const std::string& other) { return name_of(other) == name; };
    const bool has = std::any_of(environment.begin(), environment.end(), same);
    if (name.starts_with("SLURM_") || (has && std::find(keep.begin(), keep.end(), name) != keep.end()))
      continue;
    std::erase_if(environment, same);
    environment.push_back(variable);
  }
}

std::vector<std::string> variables_of_image(const ImageSettings& settings) {
  std::vector<std::string> all;
  all.emplace_back(kUsualPath);
  all.insert(all.end(), settings.environment.begin(), settings.environment.end());
  for (const char* file : {"/etc/environment", "/.singularity.d/env/10-docker2singularity.sh",
                           "/.singularity.d/env/90-environment.sh"}) {
    const auto text = os::read_file(file, kMostText);
    if (!text) continue;
    const auto found = variables_in(*text);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

[[noreturn]] void execute(const std::vector<std::string>& arguments, std::vector<std::string>& environment) {
  std::vector<char*> argv, variables;
  for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  for (std::string& one : environment) variables.push_back(one.data());
  argv.push_back(nullptr);
  variables.push_back(nullptr);
  environ = variables.data();
  ::execvp(argv[0], argv.data());
  const int error = errno;
  std::fprintf(stderr, "slurmstepd: error: execve(): %s: %s%s\n", argv[0], strerrordesc_np(error),
               error == ENOENT ? " (in the container: the program, or its interpreter or libraries)" : "");
  ::_exit(error);
}

Status enter_work_directory(const ImageOptions& options, const ImageFiles& files) {
  const std::string asked = options.work_dir.empty() ? files.settings.work_dir : options.work_dir;
  if (asked.empty() || ::chdir(asked.c_str()) == 0 || options.work_dir.empty()) return {};
  return failure_from_errno("--container-workdir: " + asked, errno);
}

}  // namespace

Status run_image(const ImageOptions& options, std::vector<std::string> arguments, bool script) {
  const std::string tmp_dir = variable_of("SLURM_TMPDIR"), place = tmp_dir + "/.container";
  if (tmp_dir.empty()) return failure("there is no SLURM_TMPDIR to put the container's files in", ENOENT);
  for (const std::string& directory : {place, place + "/mount"})
    if (Status made = make_directory(directory); !made) return made;
  const auto files = find_image(options, place);
  if (!files) return failure(files.error());
  os::UniqueFd server;
  if (!files->squashfs.empty()) {
    auto started = start_image_server(files->squashfs, files->offset);
    if (!started) return failure(started.error());
    server = std::move(*started);
  }
  std::vector<std::string> environment;
  for (char** one = environ; *one != nullptr; ++one)
    if (!std::string_view(*one).starts_with("MINKE_CONTAINER_")) environment.emplace_back(*one);
  const std::string meeting = place + (options.as_root ? "/users-root" : "/users");
  if (Status entered = enter_own_namespaces(options.as_root, meeting); !entered) return entered;
  auto shown = cut_out_all(options, script ? arguments[0] : "", environment);
  if (!shown) return failure(shown.error());
  if (Status mounted = mount_root(*files, !options.name.empty(), server.get(), place + "/mount"); !mounted)
    return mounted;
  if (Status changed = change_root(place + "/mount/root"); !changed) return changed;
  if (Status done = show(*shown); !done) return done;
  shown->clear();
  name_user();
  take_variables(variables_of_image(files->settings), options.keep, environment);
  if (::access(kDriver, F_OK) == 0) add_driver(kDriver, environment);
  if (!options.writable.value_or(true))
    if (Status closed = make_read_only("/", false); !closed) return closed;
  if (Status entered = enter_work_directory(options, *files); !entered) return entered;
  if (script) arguments[0] = kStartup;
  execute(arguments, environment);
}

}  // namespace minke::helpers
