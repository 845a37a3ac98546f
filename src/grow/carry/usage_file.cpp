#include "grow/carry/usage_file.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "text/number.h"

namespace minke::grow {
namespace {

constexpr uint16_t kOldestVersion = 0x2600;  // 22.05
constexpr uint16_t kNewestVersion = 0x2d00;  // 26.05
constexpr uint32_t kLongestText = 1U << 16;

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  bool sound() const { return sound_; }

  uint64_t number(size_t size) {
    uint64_t value = 0;
    for (const char byte : take(size)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view text() {
    const auto size = static_cast<uint32_t>(number(4));
    if (size == 0) return {};
    if (size > kLongestText) sound_ = false;
    const std::string_view text = take(sound_ ? size : 0);
    if (text.empty() || text.find('\0') != text.size() - 1) {
      sound_ = false;
      return {};
    }
    return text.substr(0, text.size() - 1);
  }
  long double real(std::string_view text) {
    const std::string copy(text);
    char* end = nullptr;
    const long double value = std::strtold(copy.c_str(), &end);
    if (copy.empty() || end != copy.c_str() + copy.size() || !std::isfinite(value)) sound_ = false;
    return sound_ ? value : 0;
  }
  void fail() { sound_ = false; }

 private:
  std::string_view take(size_t size) {
    if (rest_.size() < size) sound_ = false;
    if (!sound_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool sound_ = true;
};

void read_tres(Bytes& bytes, std::map<uint32_t, long double>& tres) {
  const std::string_view text = bytes.text();
  if (text.empty()) return;
  for (const std::string_view item : text::split(text, ',')) {
    const size_t equals = item.find('=');
    const auto id = text::parse_unsigned(item.substr(0, equals), 0xffffffff);
    if (equals == std::string_view::npos || !id) return bytes.fail();
    tres[static_cast<uint32_t>(*id)] = bytes.real(item.substr(equals + 1));
  }
}

void put_number(std::string& out, uint64_t value, size_t size) {
  for (size_t i = size; i-- > 0;) out += static_cast<char>(value >> (8 * i));
}
void put_text(std::string& out, const std::string& text) {
  put_number(out, text.empty() ? 0 : text.size() + 1, 4);
  if (!text.empty()) out.append(text).append(1, '\0');
}

}  // namespace

Result<UsageFile> parse_usage_file(std::string_view data) {
  Bytes bytes(data);
  UsageFile file;
  file.version = static_cast<uint16_t>(bytes.number(2));
  if (bytes.sound() && (file.version < kOldestVersion || file.version > kNewestVersion))
    return failure(
        fmt::format("it is of a release of Slurm that is not known (its version is 0x{:04x}; 0x{:04x} to "
                    "0x{:04x} are): take a newer Minke",
                    file.version, kOldestVersion, kNewestVersion));
  file.time = static_cast<int64_t>(bytes.number(8));
  while (bytes.sound() && !bytes.at_end()) {
    UsageFile::Record record;
    record.id = static_cast<uint32_t>(bytes.number(4));
    record.raw = bytes.real(bytes.text());
    read_tres(bytes, record.tres);
    record.wall = static_cast<uint32_t>(bytes.number(4));
    if (bytes.sound()) file.records.push_back(std::move(record));
  }
  if (!bytes.sound())
    return failure("it is not as Slurm 22.05 to 26.05 write it: it is damaged, or of another release");
  return file;
}

std::string format_usage_file(const UsageFile& file) {
  std::string out;
  put_number(out, file.version, 2);
  put_number(out, static_cast<uint64_t>(file.time), 8);
  for (const UsageFile::Record& record : file.records) {
    put_number(out, record.id, 4);
    put_text(out, fmt::format("{:.6f}", record.raw));
    std::string tres;
    for (const auto& [id, seconds] : record.tres)
      tres += fmt::format("{}{}={:.6f}", tres.empty() ? "" : ",", id, seconds);
    put_text(out, tres);
    put_number(out, record.wall, 4);
  }
  return out;
}

}  // namespace minke::grow
