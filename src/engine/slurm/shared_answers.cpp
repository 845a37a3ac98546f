#include "engine/slurm/shared_answers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/version.h"
#include "os/fd.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

using namespace std::chrono_literals;
using Milliseconds = SharedAnswers::Milliseconds;

constexpr Milliseconds kFailureDoes = 5s;
constexpr Milliseconds kPatience = 150s;  // for one who asks the cluster now
constexpr Milliseconds kLook = 20ms;
constexpr int kSlowFactor = 20;  // an answer that took a second does for 20
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kLongestPart = size_t{256} << 20;
constexpr size_t kLongestHeader = 200;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

int64_t now_ms() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// "minke-answer 0.1.0 ASKED PERIOD CODE": the part of a failure is its message.
struct Header {
  int64_t asked = 0, period = 0;
  int code = -1;  // -1: no failure
  std::string line() const {
    return std::string("minke-answer ") + kVersion + " " + std::to_string(asked) + " " +
           std::to_string(period) + " " + std::to_string(code) + "\n";
  }
};

bool read_header(std::FILE* file, Header& header) {
  char line[kLongestHeader];
  if (std::fgets(line, sizeof line, file) == nullptr) return false;
  const auto words = text::split(text::trim(line), ' ');
  if (words.size() != 5 || words[0] != "minke-answer" || words[1] != kVersion) return false;
  const auto read = [](std::string_view word, auto& value) {
    return std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc();
  };
  return read(words[2], header.asked) && read(words[3], header.period) && read(words[4], header.code);
}

bool put_part(std::FILE* file, std::string_view part) {
  const uint64_t size = part.size();
  return std::fwrite(&size, sizeof size, 1, file) == 1 &&
         (part.empty() || std::fwrite(part.data(), part.size(), 1, file) == 1);
}

// A file of this user's that nobody else may read.
File open_own(const std::string& path) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return {};
  return File(::fdopen(fd.release(), "rb"));
}

bool is_own_directory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 0077) == 0;
}

}  // namespace

std::string answers_directory(const std::string& cluster_key) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : cluster_key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char name[32];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
  const auto made = [&](const std::string& above) -> std::string {
    if (!os::make_directories(above, 0700) || !is_own_directory(above)) return {};
    const std::string directory = above + "/" + name;
    if (!os::make_directories(directory, 0700) || !is_own_directory(directory)) return {};
    return ::access(directory.c_str(), W_OK) == 0 ? directory : std::string();
  };
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    if (std::string directory = made(std::string(runtime) + "/minke-slurm"); !directory.empty())
      return directory;
  }
  // A home may be on many machines, and a lock of one be no lock of another's.
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return made(std::string(home) + "/.cache/minke-slurm-" + host);
}

Result<int64_t> SharedAnswers::read(const std::string& kind, Milliseconds newest,
                                    const TakePart& take) const {
  const File file = open_own(directory_ + "/" + kind);
  Header header;
  if (!file || !read_header(file.get(), header)) return failure("there is none", ESTALE);
  const int64_t age = now_ms() - header.asked;
  const bool does = age >= 0 && age <= std::min<int64_t>(header.period, newest.count());
  if (!does) return failure("it is too old", ESTALE);
  std::vector<char> part;
  uint64_t size = 0;
  while (std::fread(&size, sizeof size, 1, file.get()) == 1) {
    if (size > kLongestPart) return failure("a part is too long", ESTALE);
    part.resize(size);
    if (size > 0 && std::fread(part.data(), size, 1, file.get()) != 1) return failure("it is cut off", EIO);
    const std::string_view content(part.data(), part.size());
    if (header.code >= 0) return failure(Error{header.code, std::string(content)});
    if (const Status taken = take(content); !taken) return failure(taken.error());
  }
  return header.asked;
}

Status SharedAnswers::ask(const Question& question) const {
  const std::string path = directory_ + "/" + question.kind, made = path + ".new";
  ::unlink(made.c_str());
  os::UniqueFd fd(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failure_from_errno(made, errno);
  const File file(::fdopen(fd.release(), "wb"));
  Header header{.asked = now_ms(), .period = 0, .code = -1};
  // Its length is the same whatever the period will be: it is written again at the end.
  const auto padded = [](const Header& one) {
    std::string line = one.line();
    line.insert(line.size() - 1, kLongestHeader / 2 - std::min(kLongestHeader / 2, line.size()), ' ');
    return line;
  };
  std::string line = padded(header);
  bool written = std::fwrite(line.data(), line.size(), 1, file.get()) == 1;
  size_t bytes = 0;
  const auto began = std::chrono::steady_clock::now();
  const Status asked = question.ask([&](std::string_view part) -> Status {
    bytes += part.size();
    if (bytes > kMostBytes) return failure("the cluster answers with more than 1 GiB", EFBIG);
    written = written && put_part(file.get(), part);
    return {};
  });
  const auto took = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - began);
  if (asked) header.period = std::max<int64_t>(question.period().count(), kSlowFactor * took.count());
  if (!asked) {
    header.asked = now_ms();  // it may have taken longer than it does for
    header.period = kFailureDoes.count();
    header.code = std::max(0, asked.error().code);
    written = std::fflush(file.get()) == 0 && ::ftruncate(::fileno(file.get()), 0) == 0 &&
              std::fseek(file.get(), 0, SEEK_SET) == 0;
    line = padded(header);
    written = written && std::fwrite(line.data(), line.size(), 1, file.get()) == 1 &&
              put_part(file.get(), asked.error().message);
  } else {
    line = padded(header);
    written = written && std::fseek(file.get(), 0, SEEK_SET) == 0 &&
              std::fwrite(line.data(), line.size(), 1, file.get()) == 1;
  }
  if (!written || std::fflush(file.get()) != 0 || ::rename(made.c_str(), path.c_str()) != 0) {
    const int problem = errno;
    ::unlink(made.c_str());
    return failure_from_errno(path, problem);
  }
  return {};
}

Result<int64_t> SharedAnswers::get(const Question& question, const TakePart& take,
                                   Milliseconds newest) const {
  if (directory_.empty()) {
    const int64_t now = now_ms();
    const Status asked = question.ask(take);
    return asked ? Result<int64_t>(now) : failure(asked.error());
  }
  auto known = read(question.kind, newest, take);
  if (known || known.error().code != ESTALE) return known;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto lock = os::lock_file(directory_ + "/" + question.kind + ".lock");
  while (!lock && lock.error().code == EWOULDBLOCK && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLook);
    lock = os::lock_file(directory_ + "/" + question.kind + ".lock");
  }
  if (!lock)
    return failure("somebody has asked the cluster for " + question.kind + " for too long", ETIMEDOUT);
  // Who had the lock has asked in the meantime.
  known = read(question.kind, newest, take);
  if (known || known.error().code != ESTALE) return known;
  if (const Status asked = ask(question); !asked) return failure(asked.error());
  return read(question.kind, Milliseconds::max(), take);
}

void SharedAnswers::forget(const std::string& kind) const {
  if (!directory_.empty()) ::unlink((directory_ + "/" + kind).c_str());
}

}  // namespace minke::engine::slurm
