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

// A file of this user's, or of root's, that nobody else may write.
File open_trusted(const std::string& path, bool or_of_root) {
  os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 0022) != 0) return {};
  if (info.st_uid != ::geteuid() && !(or_of_root && info.st_uid == 0)) return {};
  return File(::fdopen(fd.release(), "rb"));
}

// The parts of an answer. ESTALE: it does no more.
Result<int64_t> read_answer(std::FILE* file, Milliseconds newest, const SharedAnswers::TakePart& take) {
  Header header;
  if (file == nullptr || !read_header(file, header)) return failure("there is none", ESTALE);
  const int64_t age = now_ms() - header.asked;
  const bool does = age >= 0 && age <= std::min<int64_t>(header.period, newest.count());
  if (!does) return failure("it is too old", ESTALE);
  std::vector<char> part;
  uint64_t size = 0;
  while (std::fread(&size, sizeof size, 1, file) == 1) {
    if (size > kLongestPart) return failure("a part is too long", ESTALE);
    part.resize(size);
    if (size > 0 && std::fread(part.data(), size, 1, file) != 1) return failure("it is cut off", EIO);
    const std::string_view content(part.data(), part.size());
    if (header.code >= 0) return failure(Error{header.code, std::string(content)});
    if (const Status taken = take(content); !taken) return failure(taken.error());
  }
  return header.asked;
}

std::string hashed(const std::string& key) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char name[32];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
  return name;
}

bool is_own_directory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 0077) == 0;
}

}  // namespace

std::string answers_directory(const std::string& cluster_key) {
  const std::string name = hashed(cluster_key);
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

std::string polled_directory(const std::string& cluster_key) {
  const char* given = std::getenv("MINKE_POLLED");
  return std::string(given != nullptr && *given == '/' ? given : "/run/minke-poll") + "/" +
         hashed(cluster_key);
}

SharedAnswers SharedAnswers::of_poller(std::string directory) {
  SharedAnswers answers(std::move(directory));
  answers.mode_ = 0644;
  return answers;
}

Result<int64_t> SharedAnswers::read(const std::string& kind, Milliseconds newest,
                                    const TakePart& take) const {
  if (mode_ != 0600 && !is_fresh(kind)) return failure("it gets old", ESTALE);
  return read_answer(open_trusted(directory_ + "/" + kind, false).get(), newest, take);
}

Result<int64_t> SharedAnswers::read_polled(const std::string& kind, Milliseconds newest,
                                           const TakePart& take) const {
  struct stat changed {};
  if (polled_.empty()) return failure("there is none", ESTALE);
  const File file = open_trusted(polled_ + "/" + kind, true);
  Header header;
  // What failed for the poller this user tries himself.
  if (!file || !read_header(file.get(), header) || header.code >= 0) return failure("there is none", ESTALE);
  if (::stat((directory_ + "/" + kind + ".changed").c_str(), &changed) == 0 &&
      int64_t{changed.st_mtim.tv_sec} * 1000 + changed.st_mtim.tv_nsec / 1'000'000 >= header.asked)
    return failure("it is of before a change", ESTALE);
  std::rewind(file.get());
  return read_answer(file.get(), newest, take);
}

bool SharedAnswers::is_polled(const std::string& kind) const {
  return read_polled(kind, Milliseconds::max(), [](std::string_view) { return Status(); }).has_value();
}

bool SharedAnswers::is_fresh(const std::string& kind) const {
  const File file = open_trusted(directory_ + "/" + kind, false);
  Header header;
  if (!file || !read_header(file.get(), header)) return false;
  const int64_t age = now_ms() - header.asked;
  return age >= 0 && age <= header.period * 3 / 4;
}

bool SharedAnswers::ask(const Question& question, std::optional<Status>& told) const {
  const std::string path = directory_ + "/" + question.kind, made = path + ".new";
  ::unlink(made.c_str());
  os::UniqueFd fd(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd || ::fchmod(fd.get(), mode_) != 0) return false;
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
  if (!written || std::fflush(file.get()) != 0) {  // a full disk says so before anybody is asked
    ::unlink(made.c_str());
    return false;
  }
  size_t bytes = 0;
  const auto began = std::chrono::steady_clock::now();
  const Status asked = question.ask([&](std::string_view part) -> Status {
    bytes += part.size();
    if (bytes > kMostBytes) return failure("the cluster answers with more than 1 GiB", EFBIG);
    written = written && put_part(file.get(), part);
    return {};
  });
  told = asked;
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
  const bool kept = written && std::fflush(file.get()) == 0 && ::rename(made.c_str(), path.c_str()) == 0;
  if (!kept) ::unlink(made.c_str());
  return kept;
}

bool SharedAnswers::keeps() const {
  if (directory_.empty()) return false;
  const std::string tried = directory_ + "/tried." + std::to_string(::getpid());
  const bool written = os::replace_file(tried, std::string(kLongestHeader, ' '), 0600).has_value();
  ::unlink(tried.c_str());
  return written;
}

Result<int64_t> SharedAnswers::get(const Question& question, const TakePart& take,
                                   Milliseconds newest) const {
  const auto unkept = [&]() -> Result<int64_t> {
    const int64_t now = now_ms();
    const TakePart nobody = [](std::string_view) { return Status(); };
    const Status asked = question.ask(question.hands_on ? nobody : take);
    return asked ? Result<int64_t>(now) : failure(asked.error());
  };
  if (directory_.empty()) return unkept();
  auto known = read(question.kind, newest, take);
  if (known || known.error().code != ESTALE) return known;
  known = read_polled(question.kind, newest, take);
  if (known || known.error().code != ESTALE) return known;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  auto lock = os::lock_file(directory_ + "/" + question.kind + ".lock");
  while (!lock && lock.error().code == EWOULDBLOCK && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kLook);
    lock = os::lock_file(directory_ + "/" + question.kind + ".lock");
  }
  // A disk that is full, or read-only, is no reason not to be told.
  if (!lock && lock.error().code != EWOULDBLOCK) return unkept();
  if (!lock)
    return failure("somebody has asked the cluster for " + question.kind + " for too long", ETIMEDOUT);
  // Who had the lock has asked in the meantime.
  known = read(question.kind, newest, take);
  if (known || known.error().code != ESTALE) return known;
  const int64_t began = now_ms();
  std::optional<Status> asked;
  const bool kept = ask(question, asked);
  if (asked && question.hands_on) return *asked ? Result<int64_t>(began) : failure(asked->error());
  return kept ? read(question.kind, Milliseconds::max(), take) : unkept();
}

void SharedAnswers::forget(const std::string& kind) const {
  if (directory_.empty()) return;
  ::unlink((directory_ + "/" + kind).c_str());
  if (polled_.empty()) return;
  const os::UniqueFd mark(::open((directory_ + "/" + kind + ".changed").c_str(),
                                 O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  // The kernel's own time of a change is some milliseconds behind.
  const int64_t now = now_ms();
  const timespec exact{.tv_sec = now / 1000, .tv_nsec = now % 1000 * 1'000'000};
  const timespec times[] = {exact, exact};
  if (mark) ::futimens(mark.get(), times);
}

}  // namespace minke::engine::slurm
