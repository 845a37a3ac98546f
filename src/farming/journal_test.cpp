#include "farming/journal.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "farming/reclaim.h"
#include "farming/table_file.h"
#include "farming/testing.h"
#include "farming/worker_files.h"

namespace minke::farming {
namespace {

using farm::Entry;
using farm::EntryKind;

Entry entry(EntryKind kind, uint32_t worker, uint64_t first = 0, uint64_t count = 0,
            const std::string& text = "") {
  return {kind, worker, first, count, 0, 0, 0, text};
}

Journal farm_of(const Directory& directory, uint64_t cases) {
  EXPECT_TRUE(Journal::create(directory.path(), cases));
  auto journal = Journal::open(directory.path());
  EXPECT_TRUE(journal);
  return std::move(*journal);
}

Status add(Journal& journal, const std::vector<Entry>& entries) {
  const auto turn = Turn::take(journal);
  return turn ? journal.add(entries) : Status(failure(turn.error()));
}

TEST(Journal, WhatOneAddsTheOthersSee) {
  const Directory directory;
  Journal one = farm_of(directory, 10);
  auto other = Journal::open(directory.path());
  ASSERT_TRUE(add(one, {entry(EntryKind::kWorker, 1, 0, 1, "- n1 boot"), entry(EntryKind::kTake, 1, 1, 4)}));
  ASSERT_TRUE(other->look());
  EXPECT_EQ(other->ledger().fresh(), 6u);
  EXPECT_FALSE(add(*other, {entry(EntryKind::kTake, 1, 1, 4)}));
  EXPECT_TRUE(add(*other, {entry(EntryKind::kTake, 1, 5, 1)}));
}

TEST(Journal, ALineThatWasCutShortNeverHappened) {
  const Directory directory;
  Journal journal = farm_of(directory, 10);
  ASSERT_TRUE(add(journal, {entry(EntryKind::kWorker, 1, 0, 1, "- n1 boot")}));
  std::ofstream(directory.path() + "/ledger", std::ios::app) << "take 1 1 4 0 0";
  auto other = Journal::open(directory.path());
  ASSERT_TRUE(other->look());
  EXPECT_EQ(other->ledger().fresh(), 10u);
  ASSERT_TRUE(add(*other, {entry(EntryKind::kTake, 1, 1, 2)}));
  ASSERT_TRUE(journal.look());
  EXPECT_EQ(journal.ledger().fresh(), 8u);
}

TEST(Journal, ADamagedLineIsNamed) {
  const Directory directory;
  Journal journal = farm_of(directory, 10);
  std::ofstream(directory.path() + "/ledger", std::ios::app) << "take 1 1 4 0 0 0  00000000\n";
  const Status read = journal.look();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("is damaged at byte"), std::string::npos);
}

TEST(Journal, WhatFindsNoRoomNeverHappened) {
  const Directory directory;
  Journal journal = farm_of(directory, 10);
  ASSERT_TRUE(add(journal, {entry(EntryKind::kWorker, 1, 0, 1, "- n1 boot")}));
  struct stat info {};
  ASSERT_EQ(::stat((directory.path() + "/ledger").c_str(), &info), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{static_cast<rlim_t>(info.st_size) + 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const Status full = add(journal, {entry(EntryKind::kTake, 1, 1, 4)});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(full);
  EXPECT_EQ(journal.ledger().fresh(), 10u);
  EXPECT_TRUE(add(journal, {entry(EntryKind::kTake, 1, 1, 4)}));
}

TEST(Journal, OnlyTheLivingAreAlive) {
  const Directory directory;
  Journal journal = farm_of(directory, 10);
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = Journal::open(directory.path());
    if (!own || !own->be_alive(1)) ::_exit(1);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_TRUE(*journal.is_alive(1));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(*journal.is_alive(1));
}

// Worker 1 has taken cases 1 to 5, has ended 1 and 2 (which runs again), runs 3, and dies.
Journal farm_of_a_dead_worker(const Directory& directory, const std::string& boot) {
  Journal journal = farm_of(directory, 10);
  EXPECT_TRUE(
      add(journal, {entry(EntryKind::kWorker, 1, 0, 1, "7 n1 " + boot), entry(EntryKind::kTake, 1, 1, 5)}));
  auto files = WorkerFiles::create(directory.path(), 1, 1, false);
  farm::Outcome outcome;
  outcome.number = 1;
  EXPECT_TRUE(files->ended(outcome));
  outcome.number = 2;
  outcome.code = 75;
  outcome.again = true;
  EXPECT_TRUE(files->ended(outcome));
  EXPECT_TRUE(files->began(0, {3, 0, 0}));
  return journal;
}

TEST(Reclaim, EachCaseOfTheDeadIsInOnePlace) {
  const Directory directory;
  Journal journal = farm_of_a_dead_worker(directory, boot_id());
  const auto turn = Turn::take(journal);
  const auto dead = account_for_the_dead(journal, {1, {}, true, 0});
  ASSERT_TRUE(dead) << dead.error().message;
  EXPECT_EQ(*dead, 1u);
  const auto& waiting = journal.ledger().waiting();
  EXPECT_EQ(waiting.at(2).attempt, 1u);  // it had recorded that, and not put it back
  EXPECT_EQ(waiting.at(3).attempt, 1u);
  EXPECT_EQ(waiting.at(4).attempt, 0u);
  EXPECT_EQ(waiting.at(4).count, 2u);
  EXPECT_EQ(journal.ledger().lost().size(), 1u);
  EXPECT_EQ(journal.ledger().left(), 9u);
  EXPECT_EQ(*account_for_the_dead(journal, {}), 0u);
}

TEST(Reclaim, ALostCaseIsLeftAloneWhereTheRuleSaysSo) {
  const Directory directory;
  Journal journal = farm_of_a_dead_worker(directory, boot_id());
  const auto turn = Turn::take(journal);
  ASSERT_TRUE(account_for_the_dead(journal, {1, {}, false, 0}));
  EXPECT_FALSE(journal.ledger().waiting().contains(3));
  EXPECT_EQ(journal.ledger().lost_for_good(), 1u);
}

TEST(Reclaim, OnAMachineThatWentDownAnyOfItsCasesMayHaveBegun) {
  const Directory directory;
  Journal journal = farm_of_a_dead_worker(directory, "another-boot");
  const auto turn = Turn::take(journal);
  ASSERT_TRUE(account_for_the_dead(journal, {}));
  EXPECT_EQ(journal.ledger().lost().size(), 3u);
  for (uint64_t number : {3u, 4u, 5u}) EXPECT_EQ(journal.ledger().waiting().at(number).other_than, "n1");
}

TEST(TableFile, LinesAreFoundInAnyOrder) {
  const Directory directory;
  const std::string path = directory.path() + "/table";
  {
    std::ofstream file(path);
    for (int i = 1; i <= 5000; ++i) file << "case " << i << "\n";
  }
  auto table = TableFile::open(path);
  ASSERT_TRUE(table);
  for (const uint64_t number : {1u, 5000u, 3u, 2048u, 1025u, 1024u, 4999u, 2u})
    EXPECT_EQ(*table->line(number), "case " + std::to_string(number));
  EXPECT_FALSE(table->line(5001));
  EXPECT_FALSE(table->line(0));
  EXPECT_EQ(table->lines(), 5000u);
  std::ofstream(path, std::ios::app) << "one more\nhalf";
  EXPECT_EQ(*table->line(5001), "one more");
  EXPECT_FALSE(table->line(5002));
}

TEST(WorkerFiles, SumsAreThoseOfAllRecords) {
  const Directory directory;
  auto files = WorkerFiles::create(directory.path(), 1, 2, true);
  ASSERT_TRUE(files);
  farm::Outcome outcome;
  for (uint64_t i = 1; i <= 100; ++i) {
    outcome.number = i;
    outcome.code = i % 10 == 0 ? 1 : 0;
    ASSERT_TRUE(files->make_room(1));
    ASSERT_TRUE(files->ended(outcome));
    if (i != 60) continue;
    ASSERT_TRUE(files->sync());
  }
  const auto tally = tally_of(directory.path(), 1);
  ASSERT_TRUE(tally);
  EXPECT_EQ(tally->ended, 100u);
  EXPECT_EQ(tally->ok, 90u);
  // The last record was being written.
  ASSERT_EQ(::truncate(worker_path(directory.path(), 1, "ends").c_str(), 99 * farm::kOutcomeBytes + 10), 0);
  EXPECT_EQ(tally_of(directory.path(), 1)->ended, 99u);
}

}  // namespace
}  // namespace minke::farming
