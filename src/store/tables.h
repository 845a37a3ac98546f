// The tables of records: one for each kind of lasting state, with a key and a protobuf
// message in each row.
//
// A kind is written as store::kTriggers.row(trigger), removed as store::kTriggers.no_row(id), and
// read with LoadedRows (loaded_rows.h). So this file alone defines which message each table holds,
// and its key. To add a kind: its Table, its TableInfo (tables.cpp), its RecordTable below, and a
// migration (schema.h).
//
// Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace minke::model {
class AccountRecord;
class AnsweredRequest;
class AssociationRecord;
class ClusterRecord;
class CommitProbe;
class CrontabRecord;
class FederationRecord;
class MachineState;
class MailMessage;
class NodeEvent;
class NodeRecord;
class PartitionRecord;
class PrologProgress;
class QosRecord;
class QuotaCount;
class ReservedJob;
class ReservationRecord;
class ResourceRecord;
class SoftwareRequest;
class SuspendedJob;
class Transaction;
class Trigger;
class UsagePeriod;
class UsageRecord;
class UserRecord;
}  // namespace minke::model

namespace minke::store {

enum class Table : uint8_t {
  // Tables whose rows have more columns: their statements are in rows.cpp.
  kJobs,
  kSpecs,
  kSteps,
  kSeries,
  // Tables of a key and a record.
  kAccounts,
  kUsers,
  kAssociations,
  kQos,
  kClusters,
  kFederations,
  kResources,
  kUsage,
  kQosUsage,
  kUsagePeriod,
  kNodes,
  kPartitions,
  kReservations,
  kReservedJobs,
  kTriggers,
  kPrologs,
  kMail,
  kQuotas,
  kSuspendedJobs,
  kMachine,
  kCommitProbe,
  kSoftwareRequests,
  kAnswers,
  kCrontabs,
  kNodeEvents,
  kTransactions,
};
inline constexpr Table kFirstRecordTable = Table::kAccounts;
inline constexpr size_t kTableCount = static_cast<size_t>(Table::kTransactions) + 1;

struct TableInfo {
  const char* name;
  const char* key;     // the column
  bool number_keys;    // else names
  const char* one_is;  // what a row describes, in a word
};
const TableInfo& info_of(Table table);

using RowKey = std::variant<int64_t, std::string>;
inline RowKey row_key(uint64_t number) {
  return static_cast<int64_t>(number);
}
inline RowKey row_key(std::string name) {
  return name;
}

// A change of one row.
struct Row {
  Table table;
  RowKey key;
  std::optional<std::string> record;  // serialised; none: the row is removed
};

// A row that cannot be read, or is useless.
struct DamagedRow {
  Table table;
  RowKey key;
  int64_t step = 0;    // of Table::kSteps: the rest of its key
  std::string record;  // as found
};
std::string key_in_words(const DamagedRow& row);  // "5", "5.batch", "lab"
std::string in_words(const DamagedRow& row);      // "job 5", "account lab"

// Extracts the key of a record.
struct ByName {
  using Key = std::string;
  static Key of(const auto& record) { return record.name(); }
};
struct ByPath {
  using Key = std::string;
  static Key of(const auto& record) { return record.path(); }
};
struct ByUserAndKey {  // a key is its sender's alone
  using Key = std::string;
  static Key of(const auto& record) { return std::to_string(record.uid()) + "/" + record.key(); }
};
struct ByNameAndServer {
  using Key = std::string;
  static Key of(const auto& record) { return record.name() + "@" + record.server(); }
};
struct ById {
  using Key = uint64_t;
  static Key of(const auto& record) { return record.id(); }
};
struct ByJob {
  using Key = uint64_t;
  static Key of(const auto& record) { return record.job_id(); }
};
struct ByUser {
  using Key = uint64_t;
  static Key of(const auto& record) { return record.uid(); }
};
struct ByStartAndNode {  // in the order of their time
  using Key = std::string;
  static Key of(const auto& event) {
    constexpr size_t kDigits = 12;
    const std::string start = std::to_string(event.start());
    return std::string(kDigits - std::min(kDigits, start.size()), '0') + start + "/" + event.node();
  }
};
struct TheOnlyOne {
  using Key = uint64_t;
  static Key of(const auto&) { return 1; }
};

template <typename Record, typename By>
struct RecordTable {
  Table table;
  Row row(const Record& record) const { return {table, row_key(By::of(record)), record.SerializeAsString()}; }
  Row no_row(const typename By::Key& key) const { return {table, row_key(key), std::nullopt}; }
};

inline constexpr RecordTable<model::AccountRecord, ByName> kAccounts{Table::kAccounts};
inline constexpr RecordTable<model::UserRecord, ByName> kUsers{Table::kUsers};
inline constexpr RecordTable<model::AssociationRecord, ById> kAssociations{Table::kAssociations};
inline constexpr RecordTable<model::QosRecord, ById> kQos{Table::kQos};
inline constexpr RecordTable<model::ClusterRecord, ByName> kClusters{Table::kClusters};
inline constexpr RecordTable<model::FederationRecord, ByName> kFederations{Table::kFederations};
inline constexpr RecordTable<model::ResourceRecord, ByNameAndServer> kResources{Table::kResources};
inline constexpr RecordTable<model::UsageRecord, ById> kUsage{Table::kUsage};
inline constexpr RecordTable<model::UsageRecord, ById> kQosUsage{Table::kQosUsage};
inline constexpr RecordTable<model::UsagePeriod, TheOnlyOne> kUsagePeriod{Table::kUsagePeriod};
inline constexpr RecordTable<model::NodeRecord, ByName> kNodes{Table::kNodes};
inline constexpr RecordTable<model::PartitionRecord, ByName> kPartitions{Table::kPartitions};
inline constexpr RecordTable<model::ReservationRecord, ByName> kReservations{Table::kReservations};
inline constexpr RecordTable<model::ReservedJob, ByJob> kReservedJobs{Table::kReservedJobs};
inline constexpr RecordTable<model::Trigger, ById> kTriggers{Table::kTriggers};
inline constexpr RecordTable<model::PrologProgress, ByJob> kPrologs{Table::kPrologs};
inline constexpr RecordTable<model::MailMessage, ById> kMail{Table::kMail};
inline constexpr RecordTable<model::QuotaCount, ByPath> kQuotas{Table::kQuotas};
inline constexpr RecordTable<model::SuspendedJob, ByJob> kSuspendedJobs{Table::kSuspendedJobs};
inline constexpr RecordTable<model::MachineState, TheOnlyOne> kMachine{Table::kMachine};
inline constexpr RecordTable<model::CommitProbe, TheOnlyOne> kCommitProbe{Table::kCommitProbe};
inline constexpr RecordTable<model::SoftwareRequest, ById> kSoftwareRequests{Table::kSoftwareRequests};
inline constexpr RecordTable<model::AnsweredRequest, ByUserAndKey> kAnswers{Table::kAnswers};
inline constexpr RecordTable<model::CrontabRecord, ByUser> kCrontabs{Table::kCrontabs};
inline constexpr RecordTable<model::NodeEvent, ByStartAndNode> kNodeEvents{Table::kNodeEvents};
inline constexpr RecordTable<model::Transaction, ById> kTransactions{Table::kTransactions};

}  // namespace minke::store
