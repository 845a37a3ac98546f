#include "farming/worker_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "os/files.h"

namespace minke::farming {
namespace {

constexpr uint64_t kRoomStep = 256 * farm::kOutcomeBytes;
constexpr size_t kRecordsAtOnce = 4096;

// One that is there is of a worker that died before the ledger knew it: the number is free.
Result<os::UniqueFd> create_file(const std::string& path, int flags) {
  ::unlink(path.c_str());
  os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | flags, 0666));
  if (!file) return failure_from_errno(path, errno);
  return file;
}

Status write_at(int file, std::string_view bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure_from_errno("a file of the farm", errno);
    bytes.remove_prefix(static_cast<size_t>(done));
    at += static_cast<uint64_t>(done);
  }
  return {};
}

// The last records of a worker, at most `most`.
std::vector<farm::Outcome> last_outcomes(const std::string& directory, uint32_t worker, size_t most) {
  std::vector<farm::Outcome> last;
  struct stat info {};
  if (::stat(worker_path(directory, worker, "ends").c_str(), &info) != 0) return last;
  const uint64_t all = static_cast<uint64_t>(info.st_size) / farm::kOutcomeBytes;
  [[maybe_unused]] const Status read =
      for_each_outcome(directory, worker, all - std::min<uint64_t>(all, most),
                       [&](const farm::Outcome& outcome) { last.push_back(outcome); });
  return last;
}

}  // namespace

std::string worker_path(const std::string& directory, uint32_t worker, std::string_view what) {
  return directory + "/worker." + std::to_string(worker) + "." + std::string(what);
}

Result<WorkerFiles> WorkerFiles::create(const std::string& directory, uint32_t worker, uint32_t slots,
                                        bool with_output) {
  WorkerFiles files;
  auto ends = create_file(worker_path(directory, worker, "ends"), 0);
  if (!ends) return failure(ends.error());
  auto running = create_file(worker_path(directory, worker, "running"), 0);
  if (!running) return failure(running.error());
  files.ends_ = std::move(*ends);
  files.running_ = std::move(*running);
  files.tally_path_ = worker_path(directory, worker, "tally");
  for (uint32_t slot = 0; slot < slots; ++slot) {
    files.output_.emplace_back();
    if (!with_output) continue;
    auto output = create_file(worker_path(directory, worker, "output." + std::to_string(slot)), O_APPEND);
    if (!output) return failure(output.error());
    files.output_.back() = std::move(*output);
  }
  for (uint16_t slot = 0; slot < slots; ++slot)
    if (const Status made = files.began(slot, {}); !made) return failure(made.error());
  return files;
}

Status WorkerFiles::make_room(uint64_t cases) {
  const uint64_t wanted = ends_bytes_ + cases * farm::kOutcomeBytes;
  if (wanted <= room_bytes_) return {};
  const uint64_t until = (wanted + kRoomStep - 1) / kRoomStep * kRoomStep;
  while (::fallocate(ends_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(room_bytes_),
                     static_cast<off_t>(until - room_bytes_)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) break;  // this file system cannot promise it
    return failure_from_errno("a file of the farm", errno);
  }
  room_bytes_ = until;
  return {};
}

Status WorkerFiles::began(uint16_t slot, const farm::Running& running) {
  const auto bytes = farm::pack(running);
  return write_at(running_.get(), {bytes.data(), bytes.size()}, slot * farm::kRunningBytes);
}

Status WorkerFiles::ended(const farm::Outcome& outcome) {
  const auto bytes = farm::pack(outcome);
  if (const Status written = write_at(ends_.get(), {bytes.data(), bytes.size()}, ends_bytes_); !written)
    return written;
  ends_bytes_ += bytes.size();
  tally_.add(outcome);
  changed_ = true;
  return {};
}

Status WorkerFiles::sync() {
  if (!changed_) return {};
  for (const os::UniqueFd& one : output_)
    if (one && ::fdatasync(one.get()) != 0) return failure_from_errno("a file of the farm", errno);
  if (::fdatasync(ends_.get()) != 0) return failure_from_errno("a file of the farm", errno);
  changed_ = false;
  if (!tally_file_) {
    tally_file_ = os::UniqueFd(::open(tally_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!tally_file_) return failure_from_errno(tally_path_, errno);
  }
  return write_at(tally_file_.get(), farm::format_tally(tally_), 0);
}

uint64_t WorkerFiles::output_size(uint16_t slot) const {
  if (!output_[slot]) return 0;
  const off_t size = ::lseek(output_[slot].get(), 0, SEEK_END);
  return size < 0 ? 0 : static_cast<uint64_t>(size);
}

Status for_each_outcome(const std::string& directory, uint32_t worker, uint64_t skip,
                        const std::function<void(const farm::Outcome&)>& take) {
  const std::string path = worker_path(directory, worker, "ends");
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};  // it died before it made them
  if (!file) return failure_from_errno(path, errno);
  const auto buffer = std::make_unique<char[]>(kRecordsAtOnce * farm::kOutcomeBytes);
  uint64_t at = skip * farm::kOutcomeBytes;
  size_t kept = 0;
  for (;;) {
    const ssize_t got = ::pread(file.get(), buffer.get() + kept, kRecordsAtOnce * farm::kOutcomeBytes - kept,
                                static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno(path, errno);
    if (got == 0) return {};
    at += static_cast<uint64_t>(got);
    kept += static_cast<size_t>(got);
    size_t used = 0;
    for (; kept - used >= farm::kOutcomeBytes; used += farm::kOutcomeBytes) {
      const auto outcome = farm::unpack_outcome({buffer.get() + used, farm::kOutcomeBytes});
      if (outcome) take(*outcome);
    }
    std::copy(buffer.get() + used, buffer.get() + kept, buffer.get());
    kept -= used;
  }
}

Result<farm::Tally> tally_of(const std::string& directory, uint32_t worker) {
  farm::Tally tally;
  if (const auto written = os::read_file(worker_path(directory, worker, "tally"), 4096))
    tally = farm::parse_tally(*written).value_or(farm::Tally());
  const Status read = for_each_outcome(directory, worker, tally.ended,
                                       [&](const farm::Outcome& outcome) { tally.add(outcome); });
  if (!read) return failure(read.error());
  return tally;
}

std::vector<farm::Running> running_of(const std::string& directory, uint32_t worker) {
  std::vector<farm::Running> running;
  const auto content = os::read_file(worker_path(directory, worker, "running"), size_t{1} << 20);
  if (!content) return running;
  for (size_t at = 0; at + farm::kRunningBytes <= content->size(); at += farm::kRunningBytes) {
    const auto one = farm::unpack_running(std::string_view(*content).substr(at, farm::kRunningBytes));
    if (one && one->number != 0) running.push_back(*one);
  }
  // A slot says what it runs until it begins another case, and since its end at most one other case of each
  // slot has ended.
  const auto ended = last_outcomes(directory, worker, content->size() / farm::kRunningBytes);
  std::erase_if(running, [&](const farm::Running& one) {
    return std::any_of(ended.begin(), ended.end(), [&](const farm::Outcome& outcome) {
      return outcome.number == one.number && outcome.attempt == one.attempt;
    });
  });
  return running;
}

}  // namespace minke::farming
