#include "cli/accounting.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/no_time.h"
#include "cli/progress.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "os/user_id.h"
#include "storage/words.h"
#include "store/job_row.h"
#include "store/store.h"
#include "text/sacct_records.h"
#include "text/timestamp.h"

namespace minke::cli {
namespace {

constexpr size_t kJobsAtOnce = 500;
constexpr uint32_t kHighestJobId = 0x7fffffff;  // leaves numbers for new jobs
constexpr size_t kLongestLine = size_t{16} << 20;
constexpr int kTries = 40;
constexpr int kMostComplaints = 10;  // about single lines

struct Close {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using File = std::unique_ptr<gzFile_s, Close>;  // zlib passes uncompressed data through

bool same_job(const model::JobRecord& a, const model::JobRecord& b) {
  return a.submit_time() == b.submit_time() && a.user_name() == b.user_name() &&
         a.array_job_id() == b.array_job_id();
}

class Importer {
 public:
  explicit Importer(store::Store& store) : store_(store) {}

  Status read(const std::string& path) {
    errno = 0;
    const File file(path == "-" ? gzdopen(::dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb"));
    if (!file) return failure_from_errno(path, errno == 0 ? ENOMEM : errno);
    gzbuffer(file.get(), 1U << 17);
    // Of the file as it lies there: what is unpacked of it is not known before.
    struct stat info {};
    const uint64_t whole =
        ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0;
    std::atomic<uint64_t> at{0}, jobs{0};
    const ProgressText text(storage::bytes_text);
    const ProgressLine progress([&] { return storage::number_text(jobs) + " jobs, " + text.of(at, whole); });
    text::SacctReader reader;
    std::string line;
    std::string buffer(size_t{1} << 16, '\0');
    uint64_t number = 0;
    const auto take_line = [&]() -> Status {
      ++number;
      const Status done = reader.line(line);
      line.clear();
      if (done) return {};
      if (number == 1) return failure(path + ": " + done.error().message);
      if (++unreadable_ <= kMostComplaints)
        std::fprintf(stderr, "minke: %s, line %llu is left out: %s\n", path.c_str(),
                     static_cast<unsigned long long>(number), done.error().message.c_str());
      return {};
    };
    while (gzgets(file.get(), buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
      line += buffer.c_str();
      if (line.size() > kLongestLine) return failure(path + ": a line of more than 16 MiB");
      if (!line.ends_with('\n')) continue;
      line.pop_back();
      if (const Status done = take_line(); !done) return done;
      if (reader.ready() >= kJobsAtOnce) {
        if (const Status kept = keep(reader.take()); !kept) return kept;
        at = static_cast<uint64_t>(std::max<int64_t>(0, gzoffset(file.get())));
        jobs = imported_;
      }
    }
    int problem = Z_OK;
    const std::string what = gzerror(file.get(), &problem);
    if (problem != Z_OK && problem != Z_STREAM_END)
      return problem == Z_ERRNO ? failure_from_errno(path, errno) : failure(path + ": " + what);
    if (!line.empty()) {
      if (const Status done = take_line(); !done) return done;
    }
    if (number == 0) return failure(path + " is empty");
    reader.finish();
    unfinished_ += reader.unfinished();
    return keep(reader.take());
  }

  void report() const {
    std::printf("%llu job%s imported\n", static_cast<unsigned long long>(imported_),
                imported_ == 1 ? "" : "s");
    const auto also = [](uint64_t count, const char* what) {
      if (count > 0) std::printf("%llu %s\n", static_cast<unsigned long long>(count), what);
    };
    also(known_, "were here already");
    also(conflicting_, "left out: another job has their number");
    also(unfinished_, "left out: they have not ended");
    also(static_cast<uint64_t>(unreadable_), "lines left out: they could not be read");
  }
  bool complete() const { return conflicting_ == 0 && unreadable_ == 0; }

 private:
  // Returns the id of the user with that name here; else the number in the record.
  uint32_t uid_of(const model::JobRecord& job) {
    const auto [known, is_new] = uids_.try_emplace(job.user_name(), text::SacctReader::kNoUser);
    if (is_new && !job.user_name().empty()) {
      if (const auto uid = os::user_id_of(job.user_name())) known->second = *uid;
    }
    return known->second != text::SacctReader::kNoUser ? known->second : job.uid();
  }

  // Stores the records in one transaction.
  Status keep(std::vector<text::AccountedRecords> records) {
    store::Batch batch;
    uint64_t imported = 0;
    for (text::AccountedRecords& one : records) {
      model::JobRecord& job = one.job;
      const uint32_t spec_id = job.array_job_id() != 0 ? job.array_job_id() : job.job_id();
      const auto fits = free_for(job, spec_id);
      if (!fits) return failure(fits.error());
      if (!*fits) continue;
      job.set_uid(uid_of(job));
      ++imported;
      batch.specs.push_back({spec_id, job.spec()});
      for (model::StepRecord& step : one.steps) batch.steps.push_back(std::move(step));
      batch.jobs.push_back(
          {.record = std::move(job), .spec_id = spec_id, .script = {}, .environment = {}, .owner = {}});
    }
    if (batch.empty()) return {};
    std::promise<Status> outcome;
    store_.commit(std::move(batch), [&](Status status) { outcome.set_value(std::move(status)); });
    const Status done = outcome.get_future().get();
    if (done) imported_ += imported;
    return done;
  }

  // Whether the record has no such run yet, and no other job of its number or its array's.
  Result<bool> free_for(const model::JobRecord& job, uint32_t spec_id) {
    const auto known = store_.job(job.job_id());
    if (!known) return failure(known.error());
    const auto array = spec_id == job.job_id() ? known : store_.job(spec_id);
    if (!array) return failure(array.error());
    const bool other = (*known && !same_job((*known)->record, job)) ||
                       (spec_id != job.job_id() && *array && (*array)->record.array_job_id() != spec_id);
    if (other || job.job_id() > kHighestJobId || spec_id > kHighestJobId) {
      ++conflicting_;
      return false;
    }
    if (!*known || (*known)->record.restarts() < job.restarts()) return true;
    ++known_;
    return false;
  }

  store::Store& store_;
  std::unordered_map<std::string, uint32_t> uids_;
  uint64_t imported_ = 0, known_ = 0, conflicting_ = 0, unfinished_ = 0;
  int unreadable_ = 0;
};

Result<std::unique_ptr<store::Store>> open_record() {
  const auto home = os::minke_home();
  if (!home) return failure(home.error());
  auto store = store::Store::open(os::database_path(*home));
  // A daemon that was just told to stop may still be running.
  for (int tries = 0; tries < kTries && !store && store.error().code == EBUSY; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    store = store::Store::open(os::database_path(*home));
  }
  if (!store && store.error().code == EBUSY)
    return failure("a daemon runs, which has the record open: minke down --keep-jobs first");
  return store;
}

}  // namespace

int purge_accounting(const std::string& before) {
  const int64_t now = std::time(nullptr);
  const auto time = text::parse_time(before, now, true);
  if (!time) return complain(no_time(before).message);
  if (*time <= 0 || *time > now) return complain("--before must be a time that has passed");
  auto store = open_record();
  if (!store) return complain(store.error().message);
  std::promise<Result<uint64_t>> outcome;
  (*store)->forget(*time, [&](Result<uint64_t> removed) { outcome.set_value(std::move(removed)); });
  const auto removed = outcome.get_future().get();
  if (!removed) return complain(removed.error().message);
  std::printf("%llu runs of jobs removed\n", static_cast<unsigned long long>(*removed));
  return 0;
}

int import_accounting(const std::vector<std::string>& files) {
  auto store = open_record();
  if (!store) return complain(store.error().message);
  Importer importer(**store);
  Status done;
  for (const std::string& file : files) {
    if (done = importer.read(file); !done) break;
  }
  importer.report();
  if (!done) return complain(done.error().message);
  return importer.complete() ? 0 : 1;
}

int export_accounting(const ExportOptions& options) {
  if (options.file != "-" && std::freopen(options.file.c_str(), "we", stdout) == nullptr)
    return complain(failure_from_errno(options.file, errno).value().message);
  // Exact times, whatever time zone the reader has; a delimiter that no job name contains.
  ::setenv("SLURM_TIME_FORMAT", "uts%s", 1);
  ::setenv("MINKE_TYPED_TRES", "1", 1);  // reports need the types of GPUs
  std::vector<std::string> words = {"sacct",
                                    "-a",
                                    "-D",
                                    "-P",
                                    "--delimiter=\x1f",
                                    "--noconvert",
                                    "--format=ALL",
                                    "-S",
                                    options.since.empty() ? "1970-01-02" : options.since};
  if (!options.until.empty()) words.insert(words.end(), {"-E", options.until});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return sacct_main(static_cast<int>(words.size()), pointers.data());
}

}  // namespace minke::cli
