#include "node/journal.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/journal.pb.h"
#include "node/launch_table.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

std::vector<JournalRecord> some_records() {
  std::vector<JournalRecord> records;
  for (uint32_t job = 1; job <= 3; ++job) {
    Launching& launching = *records.emplace_back().mutable_launching();
    *launching.mutable_id() = launch_id(job);
    launching.set_start_time(1'700'000'000 + job);
    launching.set_tag(std::string("\0\xff tag", 6));
    launching.add_ranks(0);
    launching.add_ranks(1);
    launching.set_tmp_dir("/tmp/x");
    launching.set_ends_job(job == 1);
    launching.set_boot_ticks(100 + job);
    Running& running = *records.emplace_back().mutable_running();
    *running.mutable_id() = launch_id(job);
    running.add_pids(1000 + job);
    running.add_pids(2000 + job);
    running.set_boot_ticks(101 + job);
    if (job == 3) break;
    for (uint32_t position : {1u, 0u}) {
      TaskEnded& ended = *records.emplace_back().mutable_task_ended();
      *ended.mutable_id() = launch_id(job);
      ended.set_position(position);
      ended.mutable_end()->set_rank(position);
      ended.mutable_end()->set_status(static_cast<int>(position << 8));
      ended.mutable_end()->set_end_time(1'700'000'100);
      ended.mutable_end()->mutable_usage()->set_max_rss_kib(99);
    }
  }
  *records.emplace_back().mutable_collected()->add_ids() = launch_id(2);
  *records.emplace_back().mutable_lost()->mutable_id() = launch_id(3);
  records.back().mutable_lost()->set_end_time(1'700'000'200);
  Launching& failing = *records.emplace_back().mutable_launching();
  *failing.mutable_id() = launch_id(4);
  failing.add_ranks(0);
  *records.emplace_back().mutable_failed()->mutable_id() = launch_id(4);
  records.back().mutable_failed()->set_launch_error("why");
  records.back().mutable_failed()->set_end_time(1'700'000'300);
  return records;
}

JournalHeader some_header() {
  JournalHeader header;
  header.set_boot_id("this boot");
  return header;
}

std::vector<std::string> bytes_of(const std::vector<JournalRecord>& records) {
  std::vector<std::string> bytes;
  for (const auto& record : records) bytes.push_back(record.SerializeAsString());
  return bytes;
}

class JournalTest : public testing::Test {
 protected:
  TemporaryDirectory directory;
  std::string path = directory / "journal";
};

TEST_F(JournalTest, ReadsWhatWasAppended) {
  EXPECT_EQ(Journal::read(path)->records.size(), 0u);
  auto journal = Journal::create(path, some_header(), {});
  ASSERT_TRUE(journal) << journal.error().message;
  for (const auto& record : some_records()) ASSERT_TRUE(journal->append(record));
  ASSERT_TRUE(journal->sync());
  auto contents = Journal::read(path);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->header.boot_id(), "this boot");
  EXPECT_EQ(contents->header.version(), kJournalVersion);
  EXPECT_EQ(bytes_of(contents->records), bytes_of(some_records()));
  EXPECT_EQ(contents->readable_bytes, journal->bytes());
  EXPECT_EQ(read_whole(path).size(), journal->bytes());
}

TEST_F(JournalTest, CutAnywhereGivesTheRecordsBeforeTheCut) {
  auto journal = Journal::create(path, some_header(), {});
  std::vector<size_t> ends = {journal->bytes()};
  for (const auto& record : some_records()) {
    ASSERT_TRUE(journal->append(record));
    ends.push_back(journal->bytes());
  }
  std::string whole = read_whole(path);
  auto all = bytes_of(some_records());
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    size_t expected = 0;
    while (expected < all.size() && ends[expected + 1] <= cut) ++expected;
    write_whole(path, whole.substr(0, cut));
    auto contents = Journal::read(path);
    ASSERT_TRUE(contents) << cut;
    ASSERT_EQ(bytes_of(contents->records), std::vector<std::string>(all.begin(), all.begin() + expected))
        << cut;
    // Going on after the cut gives a journal without a gap.
    if (cut % 7 != 0) continue;
    auto next = Journal::create(path, some_header(), contents->records);
    ASSERT_TRUE(next);
    ASSERT_TRUE(next->append(some_records().back()));
    ASSERT_EQ(Journal::read(path)->records.size(), expected + 1);
  }
}

TEST_F(JournalTest, AnyChangedByteIsNoticed) {
  auto journal = Journal::create(path, some_header(), some_records());
  std::string whole = read_whole(path);
  auto all = bytes_of(some_records());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    auto contents = parse_journal(damaged);
    if (!contents) {
      EXPECT_LT(at, 8u);
      continue;
    }
    auto read = bytes_of(contents->records);
    ASSERT_LT(read.size(), all.size()) << at;
    ASSERT_TRUE(std::equal(read.begin(), read.end(), all.begin())) << at;
  }
}

TEST_F(JournalTest, IsWholeUntilSomethingIsCutOffOrChanged) {
  JournalHeader header = some_header();
  header.set_id("name");
  ASSERT_TRUE(Journal::create(path, header, some_records()));
  const std::string bytes = read_whole(path);
  const auto whole = parse_journal(bytes);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->whole);
  EXPECT_EQ(whole->header.id(), "name");
  EXPECT_TRUE(parse_journal("")->whole);
  for (const size_t cut : {size_t{1}, size_t{5}}) {
    EXPECT_FALSE(parse_journal(std::string_view(bytes).substr(0, bytes.size() - cut))->whole);
    std::string changed = bytes;
    changed[bytes.size() / 2 + cut] ^= 1;
    EXPECT_FALSE(parse_journal(changed)->whole);
  }
}

TEST_F(JournalTest, GoesOnWithTheOneThatIsThere) {
  ASSERT_TRUE(Journal::create(path, some_header(), some_records()));
  auto journal = Journal::resume(path, *Journal::read(path));
  ASSERT_TRUE(journal);
  JournalRecord more;
  *more.mutable_collected()->add_ids() = launch_id(1);
  ASSERT_TRUE(journal->append(more));
  EXPECT_EQ(Journal::read(path)->records.size(), some_records().size() + 1);
  EXPECT_TRUE(Journal::read(path)->whole);
}

TEST_F(JournalTest, RefusesANewerVersion) {
  ASSERT_TRUE(Journal::create(path, some_header(), {}));
  std::string bytes = read_whole(path);
  bytes[6] = static_cast<char>(kJournalVersion + 1);
  auto contents = parse_journal(bytes);
  ASSERT_FALSE(contents);
  EXPECT_EQ(contents.error().code, EPROTONOSUPPORT);
  EXPECT_EQ(parse_journal("something else").error().code, EILSEQ);
}

TEST_F(JournalTest, AFullDiskLeavesTheJournalReadable) {
  auto journal = Journal::create(path, some_header(), {});
  ASSERT_TRUE(journal->append(some_records()[0]));
  uint64_t before = journal->bytes();
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit tight{before + 20, old.rlim_max};  // the next record fits in part
  ::setrlimit(RLIMIT_FSIZE, &tight);
  auto status = journal->append(some_records()[1]);
  ::setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, EFBIG);
  EXPECT_EQ(read_whole(path).size(), before);
  ASSERT_TRUE(journal->append(some_records()[2]));
  auto contents = Journal::read(path);
  ASSERT_EQ(contents->records.size(), 2u);
  EXPECT_EQ(contents->records[1].SerializeAsString(), some_records()[2].SerializeAsString());
}

TEST_F(JournalTest, TheTableIsRewrittenInFewerRecords) {
  LaunchTable table;
  for (const auto& record : some_records()) table.apply(record);
  ASSERT_EQ(table.all().size(), 3u);
  LaunchTable again;
  auto records = table.records();
  EXPECT_LT(records.size(), some_records().size());
  for (const auto& record : records) again.apply(record);
  EXPECT_EQ(bytes_of(again.records()), bytes_of(records));
  for (auto& [key, launch] : table.all()) {
    LaunchState* other = again.find(key);
    ASSERT_NE(other, nullptr);
    launch.announced = other->announced = true;
    EXPECT_EQ(to_message(*other, true).SerializeAsString(), to_message(launch, true).SerializeAsString());
  }
  LaunchState* lost = table.find(LaunchKey::of(launch_id(3)));
  EXPECT_TRUE(lost->lost);
  EXPECT_EQ(lost->tasks[1].pid, 2003);
  EXPECT_EQ(table.find(LaunchKey::of(launch_id(4)))->launch_error, "why");
}

TEST_F(JournalTest, IsWorthRewritingWhenMostOfItIsPast) {
  auto journal = Journal::create(path, some_header(), {});
  auto records = some_records();
  while (!journal->overgrown()) {
    for (const auto& record : records) ASSERT_TRUE(journal->append(record));
    ASSERT_LT(journal->bytes(), 5u << 20);
  }
  EXPECT_GT(journal->bytes(), 4u << 20);
  ASSERT_TRUE(journal->rewrite(records));
  EXPECT_LT(read_whole(path).size(), 4096u);
  EXPECT_FALSE(journal->overgrown());
  ASSERT_TRUE(journal->append(records[0]));
  EXPECT_EQ(Journal::read(path)->records.size(), records.size() + 1);
  EXPECT_NE(::access((path + ".new").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace minke::node
