// A database of schema 3, with its settings, becomes a current one; a migration that fails in between
// leaves it as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <string>
#include <utility>

#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/lasting_state.pb.h"
#include "model/mail.pb.h"
#include "model/trigger.pb.h"
#include "store/repair.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "store/testing.h"

namespace minke::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The schema as the program of that version made it.
constexpr char kSchema3[] = R"sql(
  CREATE TABLE jobs(run INTEGER PRIMARY KEY, array_job_id INTEGER, array_task_id INTEGER,
    spec_id INTEGER NOT NULL, uid INTEGER NOT NULL, active INTEGER, outcome INTEGER NOT NULL,
    submit_time INTEGER NOT NULL, end_time INTEGER, script BLOB, environment BLOB, owner BLOB,
    record BLOB NOT NULL);
  CREATE INDEX jobs_active ON jobs(active) WHERE active IS NOT NULL;
  CREATE INDEX jobs_by_array ON jobs(array_job_id, array_task_id, outcome) WHERE array_job_id IS NOT NULL;
  CREATE TABLE specs(spec_id INTEGER PRIMARY KEY, name TEXT NOT NULL, record BLOB NOT NULL);
  CREATE INDEX specs_by_name ON specs(name);
  CREATE TABLE steps(run INTEGER, step INTEGER, record BLOB NOT NULL, PRIMARY KEY(run, step)) WITHOUT ROWID;
  CREATE TABLE contents(hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL);
  CREATE TABLE submissions(key BLOB PRIMARY KEY, job_id INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE settings(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
  CREATE INDEX jobs_by_end ON jobs(end_time, submit_time) WHERE end_time IS NOT NULL;
  CREATE INDEX jobs_by_user ON jobs(uid, end_time, submit_time) WHERE end_time IS NOT NULL;
  CREATE TABLE series(run INTEGER PRIMARY KEY, record BLOB NOT NULL);
  PRAGMA application_id = 1299082085;
  PRAGMA user_version = 3;
)sql";

template <typename Record>
Record named(const std::string& name) {
  Record record;
  record.set_name(name);
  return record;
}
template <typename Record>
Record numbered(uint32_t id) {
  Record record;
  record.set_id(id);
  return record;
}

class MigrationTest : public ::testing::Test {
 protected:
  void SetUp() override { execute(kSchema3); }

  void execute(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
  void add(const std::string& name, const std::string& value) {
    std::string hex;
    for (const unsigned char byte : value) {
      hex += "0123456789abcdef"[byte >> 4];
      hex += "0123456789abcdef"[byte & 15];
    }
    execute("INSERT INTO settings VALUES('" + name + "', x'" + hex + "')");
  }

  testing::TemporaryDirectory directory;
  std::string path = directory.file("minke.db");
};

TEST_F(MigrationTest, EverySettingIsARowOfItsTable) {
  add("account lab", named<model::AccountRecord>("lab").SerializeAsString());
  add("user ada", named<model::UserRecord>("ada").SerializeAsString());
  add("association 3", numbered<model::AssociationRecord>(3).SerializeAsString());
  add("qos 4", numbered<model::QosRecord>(4).SerializeAsString());
  add("cluster far", named<model::ClusterRecord>("far").SerializeAsString());
  add("federation all", named<model::FederationRecord>("all").SerializeAsString());
  model::ResourceRecord resource = named<model::ResourceRecord>("matlab");
  resource.set_server("flex");
  add("resource matlab@flex", resource.SerializeAsString());
  add("usage 3", numbered<model::UsageRecord>(3).SerializeAsString());
  add("qos_usage 4", numbered<model::UsageRecord>(4).SerializeAsString());
  add("usage_since", "1700000000");
  add("node n1", named<model::NodeRecord>("n1").SerializeAsString());
  model::PartitionRecord partition = named<model::PartitionRecord>("gpu");
  partition.set_state("DRAIN");
  add("partition record gpu", partition.SerializeAsString());
  add("partition gpu", "DOWN");
  add("partition old", "INACTIVE");
  add("reservation course", named<model::ReservationRecord>("course").SerializeAsString());
  add("job in reservation 17", "course");
  add("trigger 0000000005", numbered<model::Trigger>(5).SerializeAsString());
  model::PrologProgress progress;
  progress.set_job_id(12);
  add("prolog 0000000012", progress.SerializeAsString());
  model::MailMessage message;
  message.set_id(6);
  add("mail 00000000000000000006", message.SerializeAsString());
  add("quota /scratch/a b", "10 20 30 40 50");
  add("suspended_for_others", "8 9 ");
  add("boot_id", "this boot");
  add("journal_id", "that journal");
  add("commit_probe", "3");

  auto store = testing::open_store(path);
  auto loaded = store->load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  LoadedRows& rows = loaded->rows;
  EXPECT_THAT(rows.read(kAccounts), SizeIs(1));
  EXPECT_THAT(rows.read(kUsers), SizeIs(1));
  EXPECT_THAT(rows.read(kAssociations), SizeIs(1));
  EXPECT_THAT(rows.read(kQos), SizeIs(1));
  EXPECT_THAT(rows.read(kClusters), SizeIs(1));
  EXPECT_THAT(rows.read(kFederations), SizeIs(1));
  EXPECT_THAT(rows.read(kResources), SizeIs(1));
  EXPECT_THAT(rows.read(kUsage), SizeIs(1));
  EXPECT_THAT(rows.read(kQosUsage), SizeIs(1));
  EXPECT_EQ(rows.read(kUsagePeriod).at(0).since(), 1'700'000'000);
  EXPECT_THAT(rows.read(kNodes), SizeIs(1));
  const auto partitions = rows.read(kPartitions);
  ASSERT_THAT(partitions, SizeIs(2));
  EXPECT_EQ(partitions[0].state(), "DRAIN");
  EXPECT_EQ(partitions[1].name() + " " + partitions[1].state(), "old INACTIVE");
  EXPECT_THAT(rows.read(kReservations), SizeIs(1));
  EXPECT_EQ(rows.read(kReservedJobs).at(0).reservation(), "course");
  EXPECT_THAT(rows.read(kTriggers), SizeIs(1));
  EXPECT_THAT(rows.read(kPrologs), SizeIs(1));
  EXPECT_THAT(rows.read(kMail), SizeIs(1));
  const auto quotas = rows.read(kQuotas);
  ASSERT_THAT(quotas, SizeIs(1));
  EXPECT_EQ(quotas[0].path(), "/scratch/a b");
  EXPECT_EQ(quotas[0].files(), 20u);
  EXPECT_EQ(quotas[0].files_over(), 50);
  EXPECT_THAT(rows.read(kSuspendedJobs), SizeIs(2));
  const auto machine = rows.read(kMachine);
  ASSERT_THAT(machine, SizeIs(1));
  EXPECT_EQ(machine[0].boot_id(), "this boot");
  EXPECT_EQ(machine[0].journal_id(), "that journal");
  EXPECT_THAT(rows.damaged(), IsEmpty());
  EXPECT_THAT(*store->set_aside(), IsEmpty());
}

TEST_F(MigrationTest, WhatIsOfNoKindOrWasSetAsideIsKept) {
  add("aside account lab", "\xff");
  add("quota /scratch", "not a number");
  add("trigger five", "x");
  add("colour", "blue");
  add("node gone", "");
  const auto store = testing::open_store(path);
  EXPECT_THAT(*store->set_aside(),
              ElementsAre("account lab", "setting colour", "quota /scratch", "trigger five"));
  EXPECT_TRUE(store->load()->rows.read(kNodes).empty());
}

// Its tables begin elsewhere than a new one's.
TEST_F(MigrationTest, AMigratedDatabaseSurvivesTheLossOfItsFirstPage) {
  constexpr int kCount = 2000;
  std::string sql = "BEGIN;";
  for (int i = 0; i < kCount; ++i) {
    const std::string name = "n" + std::to_string(1000 + i);  // with field 1, of five bytes, it is a record
    sql += "INSERT INTO settings VALUES('node " + name + "', CAST(x'0a05' || '" + name + "' AS BLOB));";
  }
  for (int i = 0; i < kCount; ++i)
    sql += "INSERT INTO series VALUES(" + std::to_string(i) + ", zeroblob(300));";
  execute(sql + "COMMIT;");
  {
    const auto store = testing::open_store(path);
    EXPECT_THAT(store->load()->rows.read(store::kNodes), SizeIs(kCount));
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(4096, '\xff');
  }
  const auto done = repair(path);
  ASSERT_TRUE(done) << done.error().message;
  const auto store = testing::open_store(path);
  EXPECT_THAT(store->load()->rows.read(store::kNodes), SizeIs(kCount));
}

// From the last schema that had no answers of requests.
TEST_F(MigrationTest, ADatabaseOfSchema4KeepsItsRowsAndTakesNewKinds) {
  add("node n1", named<model::NodeRecord>("n1").SerializeAsString());
  {
    auto connection = Connection::open(path, SQLITE_OPEN_READWRITE, "");
    ASSERT_TRUE(connection);
    ASSERT_TRUE(prepare_database(**connection, false, 4));
  }
  model::AnsweredRequest row;
  row.set_key("ab");
  row.set_uid(1000);
  {
    const auto store = testing::open_store(path);
    LoadedRows rows = std::move(store->load()->rows);
    EXPECT_THAT(rows.read(kNodes), SizeIs(1));
    EXPECT_THAT(rows.read(kAnswers), IsEmpty());
    Batch batch;
    batch.rows.push_back(kAnswers.row(row));
    store->commit(std::move(batch), [](const Status& done) { EXPECT_TRUE(done); });
  }
  LoadedRows rows = std::move(testing::open_store(path)->load()->rows);
  ASSERT_THAT(rows.read(kAnswers), SizeIs(1));
  EXPECT_THAT(rows.damaged(), IsEmpty());
}

// The repair keeps its schema; the next daemon migrates it.
TEST_F(MigrationTest, AnEarlierDatabaseThatIsDamagedKeepsItsSettings) {
  constexpr int kNodes = 2000;
  std::string sql = "BEGIN;";
  for (int i = 0; i < kNodes; ++i)
    sql += "INSERT INTO settings VALUES('node n" + std::to_string(i) + "', x'00');";
  for (int i = 0; i < kNodes; ++i)
    sql += "INSERT INTO series VALUES(" + std::to_string(i) + ", zeroblob(300));";
  execute(sql + "COMMIT;");
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-4096, std::ios::end);  // a page of the series
    file << std::string(100, '\xff');
  }
  const auto done = repair(path);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->was_sound);
  const auto store = testing::open_store(path);
  LoadedRows rows = std::move(store->load()->rows);
  (void)rows.read(store::kNodes);
  EXPECT_THAT(rows.damaged(), SizeIs(kNodes)) << "x'00' is no record, but it is there";
}

// Schema 7 renamed some tables.
TEST_F(MigrationTest, ADatabaseOfSchema6ThatIsDamagedKeepsItsTree) {
  add("association 3", numbered<model::AssociationRecord>(3).SerializeAsString());
  add("federation all", named<model::FederationRecord>("all").SerializeAsString());
  add("reservation course", named<model::ReservationRecord>("course").SerializeAsString());
  constexpr int kSeries = 2000;
  std::string sql = "BEGIN;";
  for (int i = 0; i < kSeries; ++i)
    sql += "INSERT INTO series VALUES(" + std::to_string(i) + ", zeroblob(300));";
  execute(sql + "COMMIT;");
  {
    auto connection = Connection::open(path, SQLITE_OPEN_READWRITE, "");
    ASSERT_TRUE(connection);
    ASSERT_TRUE(prepare_database(**connection, false, 6));
    ASSERT_TRUE((*connection)->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(50 * 4096);  // a page of the series
    file << std::string(100, '\xff');
  }
  const auto done = repair(path);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->was_sound);
  LoadedRows rows = std::move(testing::open_store(path)->load()->rows);
  EXPECT_THAT(rows.read(kAssociations), SizeIs(1));
  EXPECT_THAT(rows.read(kFederations), SizeIs(1));
  EXPECT_THAT(rows.read(kReservations), SizeIs(1));
}

}  // namespace
}  // namespace minke::store
