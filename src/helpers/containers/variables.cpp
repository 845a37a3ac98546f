#include <algorithm>

#include "helpers/containers/image.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

bool is_name(std::string_view name) {
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

template <typename Number>
Number number_at(std::string_view bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(Number); ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return static_cast<Number>(value);
}

}  // namespace

std::vector<std::string> variables_in(const std::string& text) {
  std::vector<std::string> variables;
  for (std::string_view line : text::split(text, '\n')) {
    line = text::trim(line);
    if (line.starts_with("export ")) line = text::trim(line.substr(7));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || !is_name(line.substr(0, equals))) continue;
    const std::string name(line.substr(0, equals));
    std::string_view value = line.substr(equals + 1);
    // Apptainer's NAME="${NAME:-"VALUE"}": unless it is set already.
    const std::string unless_set = "\"${" + name + ":-\"";
    if (value.starts_with(unless_set) && value.ends_with("\"}\""))
      value = value.substr(unless_set.size(), value.size() - unless_set.size() - 3);
    else if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
             value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    if (value.find("$(") != std::string_view::npos || value.find('`') != std::string_view::npos) continue;
    variables.push_back(name + "=" + std::string(value));
  }
  return variables;
}

// A header of 128 bytes, and descriptors of 585 bytes, little-endian. A partition's kind of file system is
// the first number of its own data, behind its name.
std::optional<uint64_t> squashfs_in_sif(std::string_view bytes) {
  constexpr size_t kMagic = 32, kTotal = 88, kDescriptors = 96, kHeader = 128, kDescriptor = 585;
  constexpr size_t kOffset = 17, kExtra = 201;
  constexpr uint32_t kPartition = 0x4004, kSquashfs = 1;
  if (bytes.size() < kHeader || bytes.substr(kMagic, 9) != "SIF_MAGIC") return std::nullopt;
  const auto total = std::min<uint64_t>(number_at<uint64_t>(bytes, kTotal), 256);
  const auto begin = number_at<uint64_t>(bytes, kDescriptors);
  for (uint64_t i = 0; i < total && begin < bytes.size(); ++i) {
    const uint64_t at = begin + i * kDescriptor;
    if (at + kDescriptor > bytes.size()) break;
    if (number_at<uint32_t>(bytes, at) != kPartition || bytes[at + 4] == 0 ||
        number_at<uint32_t>(bytes, at + kExtra) != kSquashfs)
      continue;
    return number_at<uint64_t>(bytes, at + kOffset);
  }
  return std::nullopt;
}

}  // namespace minke::helpers
