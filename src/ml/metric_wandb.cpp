// W&B's offline runs: a header of 7 bytes, then blocks of 32 KiB with fragments of records, as LevelDB's logs
// have them (CRC-32 of IEEE over type and data, length, type), each record a protobuf message.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ml/metric_parsers.h"
#include "text/number.h"

namespace minke::ml {

namespace {

constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeadBytes = 7;  // of the file, and of a fragment
constexpr size_t kMaxRecordBytes = size_t{64} << 20;
constexpr Crc32 kCrc(0xedb88320);

enum Fragment : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
// Numbers of fields.
constexpr uint32_t kRecordHistory = 2, kRecordEnvironment = 26;
constexpr uint32_t kHistoryItem = 1, kHistoryStep = 2, kStepNumber = 1;
constexpr uint32_t kItemKey = 1, kItemNestedKey = 2, kItemBoolean = 4, kItemInteger = 5, kItemNumber = 6,
                   kItemJson = 16;
constexpr uint32_t kEnvironmentSlurm = 27, kEntryKey = 1, kEntryValue = 2;

struct Item {
  std::string name;
  std::optional<double> value;
};

double as_double(uint64_t bits) {
  double value = 0;
  static_assert(sizeof value == sizeof bits);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

Item read_item(std::string_view message) {
  Item item;
  Fields fields(message);
  std::string nested;
  while (const auto field = fields.next()) {
    if (field->is_bytes && field->number == kItemKey) item.name = field->bytes;
    if (field->is_bytes && field->number == kItemNestedKey)
      nested.append(nested.empty() ? "" : ".").append(field->bytes);
    if (field->is_bytes && field->number == kItemJson) {
      const auto value = nlohmann::json::parse(field->bytes, nullptr, false);
      if (value.is_number()) item.value = value.get<double>();
      if (value.is_boolean()) item.value = value.get<bool>() ? 1 : 0;
    }
    if (field->is_bytes) continue;
    if (field->number == kItemBoolean) item.value = field->value != 0 ? 1 : 0;
    if (field->number == kItemInteger) item.value = static_cast<double>(static_cast<int64_t>(field->value));
    if (field->number == kItemNumber) item.value = as_double(field->value);
  }
  if (item.name.empty()) item.name = std::move(nested);
  return item;
}

class WandbParser : public MetricParser {
 public:
  Status feed(std::string_view bytes, MetricSet& metrics) override {
    buffer_.append(bytes);
    size_t at = 0;
    const Status status = consume(at, metrics);
    buffer_.erase(0, at);
    position_ += at;
    return status;
  }
  size_t unread() const override { return buffer_.size() + record_.size(); }
  uint32_t job_id() const override { return job_id_; }

 private:
  // One piece of a record: the format divides records into blocks.
  struct Chunk {
    uint32_t crc;
    size_t length;
    uint8_t type;
    std::string_view content;  // may end before `length`

    // The rest of a block, allocated before it is written.
    bool is_blank() const { return crc == 0 && length == 0 && type == 0; }
  };
  static Chunk chunk_at(std::string_view rest) {
    const size_t length = little_endian(rest.substr(4, 2));
    return {static_cast<uint32_t>(little_endian(rest.substr(0, 4))), length, static_cast<uint8_t>(rest[6]),
            rest.substr(kHeadBytes, length)};
  }

  // Skips the file's header, once it is complete.
  Status take_head(size_t& at) const {
    if (position_ != 0 || buffer_.size() < kHeadBytes) return {};
    // ":W&B", 0xBEE1, version
    if (std::string_view(buffer_).substr(0, 6) != std::string_view(":W&B\xe1\xbe", 6))
      return failure("it does not begin as a W&B run does");
    if (buffer_[6] != 0) return failure("a version of W&B's format that is not known");
    at = kHeadBytes;
    return {};
  }

  // Moves `at` behind the complete part.
  Status consume(size_t& at, MetricSet& metrics) {
    if (Status begun = take_head(at); !begun || position_ + at == 0) return begun;
    for (;;) {
      const size_t left_in_block = kBlockBytes - (position_ + at) % kBlockBytes;
      const std::string_view rest = std::string_view(buffer_).substr(at);
      // A rest too short for a chunk is filled with zeros.
      const bool filled = left_in_block < kHeadBytes;
      if (!filled && rest.size() < kHeadBytes) return {};
      if (filled || chunk_at(rest).is_blank()) {
        if (rest.size() < left_in_block) return {};
        at += left_in_block;
        continue;
      }
      const Chunk chunk = chunk_at(rest);
      if (chunk.length + kHeadBytes > left_in_block || chunk.type < kFull || chunk.type > kLast)
        return failure("damaged at byte " + std::to_string(position_ + at));
      if (chunk.content.size() < chunk.length) return {};
      if (kCrc(rest.substr(6, 1 + chunk.length)) != chunk.crc)
        return failure("damaged at byte " + std::to_string(position_ + at) + " (checksum)");
      if (Status taken = take_chunk(chunk, metrics); !taken) return taken;
      at += kHeadBytes + chunk.length;
    }
  }

  Status take_chunk(const Chunk& chunk, MetricSet& metrics) {
    if (chunk.type == kFull || chunk.type == kFirst) record_.clear();
    record_.append(chunk.content);
    if (record_.size() > kMaxRecordBytes) return failure("a record is larger than 64 MiB");
    if (chunk.type != kFull && chunk.type != kLast) return {};
    read_record(record_, metrics);
    record_.clear();
    return {};
  }

  void read_record(std::string_view record, MetricSet& metrics) {
    Fields fields(record);
    while (const auto field = fields.next()) {
      if (field->is_bytes && field->number == kRecordHistory) read_history(field->bytes, metrics);
      if (field->is_bytes && field->number == kRecordEnvironment) read_environment(field->bytes);
    }
  }

  static void read_history(std::string_view history, MetricSet& metrics) {
    std::vector<Item> items;
    std::optional<double> step;
    Fields fields(history);
    while (const auto field = fields.next()) {
      if (!field->is_bytes) continue;
      if (field->number == kHistoryItem) items.push_back(read_item(field->bytes));
      if (field->number == kHistoryStep) {
        Fields inner(field->bytes);
        while (const auto number = inner.next()) {
          if (!number->is_bytes && number->number == kStepNumber)
            step = static_cast<double>(static_cast<int64_t>(number->value));
        }
      }
    }
    metrics.set_time(0);
    for (const Item& item : items) {
      if (item.name == "_step" && item.value) step = *item.value;
      if (item.name == "_timestamp" && item.value) metrics.set_time(*item.value);
    }
    for (const Item& item : items) {
      if (item.value && !item.name.starts_with('_'))
        metrics.add(item.name, step ? &*step : nullptr, *item.value);
    }
  }

  void read_environment(std::string_view environment) {
    Fields fields(environment);
    while (const auto field = fields.next()) {
      if (!field->is_bytes || field->number != kEnvironmentSlurm) continue;
      Fields entry(field->bytes);
      std::string_view key, value;
      while (const auto part = entry.next()) {
        if (part->number == kEntryKey) key = part->bytes;
        if (part->number == kEntryValue) value = part->bytes;
      }
      if (key != "job_id") continue;
      if (const auto id = text::parse_unsigned(value, 0xffffffff)) job_id_ = static_cast<uint32_t>(*id);
    }
  }

  std::string buffer_, record_;
  size_t position_ = 0;  // in the file, of the buffer's beginning
  uint32_t job_id_ = 0;
};

}  // namespace

std::unique_ptr<MetricParser> make_wandb_parser() {
  return std::make_unique<WandbParser>();
}

}  // namespace minke::ml
