#include "store/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "store/job_row.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "store/testing.h"

namespace minke::store {
namespace {

using testing::commit;
using testing::job_row;
using testing::TemporaryDirectory;

constexpr uint32_t kJobs = 2000;

class RepairTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = Store::open(path);
    ASSERT_TRUE(store) << store.error().message;
    Batch batch;
    for (uint32_t id = 1; id <= kJobs; ++id) batch.jobs.push_back(job_row(id));
    batch.rows = {testing::probe_row(7)};
    ASSERT_TRUE(commit(**store, std::move(batch)));
  }

  void damage(std::streamoff from_page, std::streamoff to_page) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (std::streamoff page = from_page; page < to_page; ++page) {
      file.seekp(page * 4096);
      file << std::string(100, '\xff');
    }
  }

  size_t jobs() {
    auto store = Store::open(path);
    EXPECT_TRUE(store) << store.error().message;
    const auto loaded = (*store)->load();
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded->active_jobs.size();
  }

  TemporaryDirectory directory;
  std::string path = directory.file("minke.db");
};

TEST_F(RepairTest, LeavesASoundDatabaseAlone) {
  const auto done = repair(path);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->was_sound);
  EXPECT_EQ(jobs(), kJobs);
}

TEST_F(RepairTest, SavesWhatIsBeforeAndBehindTheDamage) {
  const auto pages = static_cast<std::streamoff>(std::filesystem::file_size(path) / 4096);
  damage(pages / 2, pages / 2 + 2);
  const auto done = repair(path);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->was_sound);
  EXPECT_FALSE(done->lost.empty() && jobs() != kJobs);
  EXPECT_GT(jobs(), kJobs * 9 / 10);
  EXPECT_TRUE(std::filesystem::exists(done->kept_as));
  EXPECT_TRUE(repair(path)->was_sound);
}

TEST_F(RepairTest, SavesWhatIsBehindADamagedFirstPage) {
  for (const std::streamoff at : {0, 100, 2000}) {  // SQLite's own header, the list of tables, its text
    std::filesystem::copy_file(path, path + ".kept");
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at);
      file << std::string(static_cast<size_t>(4096 - at), '\xff');
    }
    EXPECT_FALSE(Store::open(path));
    const auto done = repair(path);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_THAT(done->lost, ::testing::ElementsAre(::testing::HasSubstr("the first page")));
    EXPECT_EQ(jobs(), kJobs);
    EXPECT_FALSE(std::filesystem::exists(path + ".readable"));
    std::filesystem::rename(path + ".kept", path);
  }
}

// As one has that was migrated, or restored from a copy: its tables begin elsewhere.
TEST_F(RepairTest, SavesWhatIsBehindTheFirstPageOfACompactedDatabase) {
  {
    auto connection = Connection::open(path, SQLITE_OPEN_READWRITE, "");
    ASSERT_TRUE((*connection)
                    ->execute("DROP INDEX jobs_by_array; VACUUM; CREATE INDEX jobs_by_array ON "
                              "jobs(array_job_id, array_task_id, outcome) WHERE array_job_id IS NOT NULL"));
  }
  EXPECT_EQ(jobs(), kJobs);  // a daemon has used it
  damage(0, 1);
  EXPECT_FALSE(Store::open(path));
  const auto done = repair(path);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(jobs(), kJobs);
  EXPECT_TRUE(std::filesystem::exists(done->kept_as + "-roots"));
}

TEST_F(RepairTest, ANoteOfAnotherDatabaseDoesNoHarm) {
  std::ofstream(path + "-roots") << "schema 3\njobs 400\n";
  damage(0, 1);
  const auto done = repair(path);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(jobs(), kJobs);
}

TEST_F(RepairTest, AnEmptyFileInPlaceOfADatabaseIsNoNewOne) {
  std::filesystem::resize_file(path, 0);
  for (const Status& done : {Store::open(path).has_value() ? Status() : failure(Store::open(path).error()),
                             repair(path).has_value() ? Status() : failure(repair(path).error())}) {
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, ::testing::HasSubstr("there was a cluster here"));
  }
  std::filesystem::remove(path + "-roots");
  const std::string journal = directory.file("journal");
  std::ofstream(journal) << "x";
  EXPECT_FALSE(Store::open(path, {.vfs = {}, .signs = {directory.file("none"), journal}}));
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  std::filesystem::remove(path);
  EXPECT_TRUE(Store::open(path, {.vfs = {}, .signs = {journal}})) << "who removes it means a new one";
}

// The header of the page follows that of the file: its kind, the first block of freed room, the number of
// cells, and where they begin. A block has the place of the next one, and its size.
TEST(Schema, FitsOnTheFirstPageOfALargeDatabaseToo) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.file("minke.db");
  testing::open_store(path);
  std::ifstream file(path, std::ios::binary);
  std::string page(4096, '\0');
  ASSERT_TRUE(file.read(page.data(), static_cast<std::streamsize>(page.size())));
  const auto number = [&](size_t at) {
    return static_cast<unsigned char>(page[at]) << 8 | static_cast<unsigned char>(page[at + 1]);
  };
  constexpr size_t kHeader = 100, kBytesOfHeader = 8;
  constexpr char kLeaf = 13;
  EXPECT_EQ(page[kHeader], kLeaf);
  const int tables = number(kHeader + 3);
  int unused = number(kHeader + 5) - static_cast<int>(kHeader + kBytesOfHeader) - 2 * tables;
  for (int free = number(kHeader + 1); free != 0; free = number(static_cast<size_t>(free)))
    unused += number(static_cast<size_t>(free) + 2);
  EXPECT_GE(unused, 52) << "two bytes more for each of 26 tables that a migration makes in a large database";
}

TEST_F(RepairTest, SavesWhatIsBeforeTheEndOfAFileThatWasCutOff) {
  const auto size = std::filesystem::file_size(path);
  for (const auto left : {size - 4096, size / 2 + 7, size / 3 / 4096 * 4096}) {
    std::filesystem::copy_file(path, path + ".kept");
    std::filesystem::resize_file(path, left);
    const auto done = repair(path);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(done->was_sound);
    EXPECT_FALSE(done->lost.empty());
    EXPECT_GT(jobs(), 0U);
    std::filesystem::rename(path + ".kept", path);
  }
}

TEST_F(RepairTest, LeavesWhatIsNoDatabaseOfOurs) {
  std::ofstream(path, std::ios::trunc) << std::string(20000, 'x');
  EXPECT_THAT(repair(path).error().message, ::testing::HasSubstr("no database of this program"));
  EXPECT_EQ(std::filesystem::file_size(path), 20000U);
  std::filesystem::remove(path);
  {
    auto other = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
    ASSERT_TRUE((*other)->execute("CREATE TABLE theirs(a)"));
  }
  EXPECT_THAT(repair(path).error().message, ::testing::HasSubstr("of another program"));
}

TEST_F(RepairTest, IsRefusedWhileTheDatabaseIsUsed) {
  const auto store = Store::open(path);
  ASSERT_TRUE(store);
  const auto done = repair(path);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, EBUSY);
}

TEST_F(RepairTest, BacksUpADatabaseThatIsUsed) {
  const std::string copy = directory.file("copy.db");
  {
    const auto store = Store::open(path);
    ASSERT_TRUE(store);
    ASSERT_TRUE(back_up(path, copy));
    EXPECT_EQ(back_up(path, copy).error().code, EEXIST);
  }
  path = copy;
  EXPECT_EQ(jobs(), kJobs);
}

}  // namespace
}  // namespace minke::store
