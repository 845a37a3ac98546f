#include "farming/farm_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "farming/table_file.h"
#include "farming/worker_files.h"
#include "os/files.h"

namespace minke::farming {
namespace {

using Json = nlohmann::json;
constexpr size_t kBufferBytes = 1 << 20;

// JSON is UTF-8, and users' words are bytes: a byte above 127 is written as the character of its number.
std::string as_text(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}
std::string as_bytes(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80 || i + 1 == text.size()) {
      bytes += text[i];
    } else {
      bytes += static_cast<char>(((byte & 3) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f));
    }
  }
  return bytes;
}
std::vector<std::string> all(const std::vector<std::string>& words,
                             std::string (*change)(const std::string&)) {
  std::vector<std::string> changed;
  for (const std::string& word : words) changed.push_back(change(word));
  return changed;
}

// Lines of a file that is being written, behind `at`.
class TableWriter {
 public:
  TableWriter(const std::string& path, uint64_t at)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)), at_(at) {}
  Status take(std::string_view line) {
    buffer_.append(line).append("\n");
    return buffer_.size() < kBufferBytes ? Status() : flush();
  }
  Status finish() {
    if (const Status flushed = flush(); !flushed) return flushed;
    if (::ftruncate(file_.get(), static_cast<off_t>(at_)) != 0 || ::fsync(file_.get()) != 0)
      return failure_from_errno(path_, errno);
    return {};
  }

 private:
  Status flush() {
    if (!file_) return failure_from_errno(path_, errno);
    for (size_t done = 0; done < buffer_.size();) {
      const ssize_t got =
          ::pwrite(file_.get(), buffer_.data() + done, buffer_.size() - done, static_cast<off_t>(at_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failure_from_errno(path_, errno);
      done += static_cast<size_t>(got);
      at_ += static_cast<uint64_t>(got);
    }
    buffer_.clear();
    return {};
  }
  std::string path_;
  os::UniqueFd file_;
  uint64_t at_;
  std::string buffer_;
};

// Reads the cases of a table and writes them; returns how many.
Result<uint64_t> copy_cases(farm::TableReader& reader, const LineSource& lines, TableWriter& writer) {
  uint64_t cases = 0;
  const Status read = lines([&](std::string_view line) -> Status {
    const auto kept = reader.take(line);
    if (!kept) return failure(kept.error());
    if (kept->empty()) return {};
    ++cases;
    return writer.take(*kept);
  });
  if (!read) return failure(read.error());
  if (const Status whole = reader.finish(); !whole) return failure(whole.error());
  if (const Status written = writer.finish(); !written) return failure(written.error());
  return cases;
}

}  // namespace

std::string format_settings(const FarmSettings& settings) {
  const Json document = {{"form", farm::form_name(settings.form)},
                         {"columns", all(settings.columns, as_text)},
                         {"command", all(settings.words, as_text)},
                         {"retries", settings.rule.times},
                         {"retry_codes", settings.rule.codes},
                         {"retry_lost", settings.rule.lost},
                         {"memory_doublings", settings.rule.most_level},
                         {"cpus_per_case", settings.cpus_per_case},
                         {"at_once", settings.at_once},
                         {"jobs", settings.jobs},
                         {"directory", as_text(settings.directory)}};
  return document.dump(1) + "\n";
}

Result<FarmSettings> read_settings(const std::string& directory) {
  const std::string path = directory + "/farm.json";
  const auto content = os::read_file(path, size_t{16} << 20);
  if (!content && content.error().code == ENOENT)
    return failure(directory + " is no farm's directory", ENOENT);
  if (!content) return failure(content.error());
  FarmSettings settings;
  try {
    const Json document = Json::parse(*content);
    const auto form = farm::parse_form(document.at("form").get<std::string>());
    if (!form) return failure(path + ": " + form.error().message);
    settings.form = *form;
    settings.columns = all(document.at("columns").get<std::vector<std::string>>(), as_bytes);
    settings.words = all(document.at("command").get<std::vector<std::string>>(), as_bytes);
    settings.rule.times = document.at("retries").get<uint32_t>();
    settings.rule.codes = document.at("retry_codes").get<std::vector<int>>();
    settings.rule.lost = document.at("retry_lost").get<bool>();
    settings.rule.most_level = document.at("memory_doublings").get<uint32_t>();
    settings.cpus_per_case = document.at("cpus_per_case").get<uint32_t>();
    settings.at_once = document.at("at_once").get<uint32_t>();
    settings.jobs = document.at("jobs").get<uint32_t>();
    settings.directory = as_bytes(document.at("directory").get<std::string>());
  } catch (const Json::exception& problem) {
    return failure(path + " is damaged: " + problem.what());
  }
  return settings;
}

Result<api::SubmitRequest> read_job_request(const std::string& directory) {
  constexpr size_t kMostBytes = size_t{64} << 20;
  const std::string path = directory + "/job.request";
  const auto content = os::read_file(path, kMostBytes);
  if (!content) return failure(content.error());
  api::SubmitRequest request;
  if (!request.ParseFromString(*content)) return failure(path + " is damaged");
  return request;
}

Result<uint64_t> make_farm(const std::string& directory, NewFarm farm) {
  struct stat info {};
  if (::lstat(directory.c_str(), &info) == 0)
    return failure(
        directory + " is there already: minke farm status tells of it; another farm needs another --dir",
        EEXIST);
  const std::string place = directory + "." + std::to_string(::getpid()) + ".new";
  const auto fail = [&](const Error& error) -> Result<uint64_t> {
    std::error_code ignored;
    std::filesystem::remove_all(place, ignored);
    return failure(error);
  };
  if (const Status made = os::make_directories(place + "/jobs", 0755); !made) return fail(made.error());
  farm::TableReader reader(farm.settings.form, farm.table_name);
  TableWriter writer(place + "/table", 0);
  const auto cases = copy_cases(reader, farm.lines, writer);
  if (!cases) return fail(cases.error());
  if (*cases == 0) return fail({0, farm.table_name + " has no cases"});
  farm.settings.columns = reader.columns();
  if (const Status made = Journal::create(place, *cases); !made) return fail(made.error());
  if (const Status written = os::replace_file(place + "/job.request", farm.request, 0600); !written)
    return fail(written.error());
  if (const Status written = os::replace_file(place + "/farm.json", format_settings(farm.settings), 0644);
      !written)
    return fail(written.error());
  // Not over a directory that has come meanwhile, unless it is empty.
  if (::rename(place.c_str(), directory.c_str()) != 0) {
    const int error_number = errno;
    return fail({error_number, directory + " is there already"});
  }
  return cases;
}

Result<uint64_t> add_cases(Journal& journal, const FarmSettings& settings, const std::string& table_name,
                           const LineSource& lines) {
  const std::string path = journal.directory() + "/table";
  auto table = TableFile::open(path);
  if (!table) return failure(table.error());
  const uint64_t before = journal.ledger().cases();
  const auto end = table->end_of(before);  // what is behind it is of an addition that was cut short
  if (!end) return failure(end.error());
  farm::TableReader reader(settings.form, table_name);
  TableWriter writer(path, *end);
  const auto added = copy_cases(reader, lines, writer);
  if (!added) return added;
  if (!settings.columns.empty() && reader.columns() != settings.columns)
    return failure(table_name + " has other columns than the farm's table");
  farm::Entry entry;
  entry.kind = farm::EntryKind::kCases;
  entry.count = before + *added;
  if (const Status told = journal.add({entry}); !told) return failure(told.error());
  return added;
}

Result<std::vector<CaseState>> case_states(Journal& journal) {
  if (const Status read = journal.look(); !read) return failure(read.error());
  const farm::Ledger& ledger = journal.ledger();
  std::vector<CaseState> states(ledger.cases());
  for (const auto& [worker, member] : ledger.members()) {
    const Status read = for_each_outcome(journal.directory(), worker, 0, [&](const farm::Outcome& outcome) {
      if (outcome.number > states.size()) return;
      CaseState& state = states[outcome.number - 1];
      if (state.ended && state.outcome.attempt > outcome.attempt) return;
      state = {true, false, outcome, worker};
    });
    if (!read) return failure(read.error());
  }
  for (const auto& lost : ledger.lost()) {
    CaseState& state = states[lost.number - 1];
    if (state.ended && state.outcome.attempt >= lost.attempt) continue;
    state = {true, false, {}, lost.worker};
    state.outcome.number = lost.number;
    state.outcome.attempt = lost.attempt;
    state.outcome.ending =
        lost.ending < farm::kEndings ? static_cast<farm::Ending>(lost.ending) : farm::Ending::kLost;
    state.outcome.again = lost.again;
  }
  for (const auto& [first, waiting] : ledger.waiting())
    for (uint64_t i = 0; i < waiting.count; ++i) states[first + i - 1].waits = true;
  for (uint64_t number = ledger.cases() - ledger.fresh() + 1; number <= ledger.cases(); ++number)
    states[number - 1].waits = true;
  return states;
}

Result<Survey> survey(Journal& journal) {
  if (const Status read = journal.look(); !read) return failure(read.error());
  const farm::Ledger& ledger = journal.ledger();
  Survey survey;
  for (const auto& [worker, member] : ledger.members()) {
    const auto tally = tally_of(journal.directory(), worker);
    if (!tally) return failure(tally.error());
    survey.tally.add(*tally);
    if (member.gone) continue;
    const auto alive = journal.is_alive(worker);
    if (!alive) return failure(alive.error());
    if (!*alive) continue;
    ++survey.workers;
    survey.running += running_of(journal.directory(), worker).size();
  }
  for (const farm::LostCase& lost : ledger.lost()) {
    ++survey.lost_by[std::min<size_t>(lost.ending, farm::kEndings - 1)];
    survey.lost_again += lost.again ? 1 : 0;
  }
  survey.cases = ledger.cases();
  survey.left = ledger.left();
  survey.stopped = ledger.stopped();
  survey.ok = survey.tally.ok;
  survey.lost = ledger.lost_for_good();
  const uint64_t failed = survey.tally.failed_for_good() + survey.lost;
  survey.failed = failed - std::min(failed, ledger.put_again());
  survey.running = std::min(survey.running, survey.cases - std::min(survey.cases, survey.ok + survey.failed));
  survey.waiting = survey.cases - std::min(survey.cases, survey.ok + survey.failed + survey.running);
  return survey;
}

}  // namespace minke::farming
