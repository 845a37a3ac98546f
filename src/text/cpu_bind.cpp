#include "text/cpu_bind.h"

#include <algorithm>
#include <optional>

#include "text/number.h"
#include "text/word.h"

namespace minke::text {
namespace {

constexpr uint32_t kMostCpus = 4096;
constexpr size_t kLongestList = 4096;  // entries, after "*N" has been written out

int hexadecimal(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

Error not_a_number(std::string_view text, char offending) {
  return {0, "Failed to validate number: " + std::string(text) + ", the offending character is " + offending};
}

// "5", without "0x".
Result<std::vector<uint32_t>> parse_mask(std::string_view text) {
  if (text.empty() || text.size() * 4 > kMostCpus) return failure("not a mask");
  std::vector<uint32_t> cpus;
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = hexadecimal(text[text.size() - 1 - i]);
    for (uint32_t bit = 0; bit < 4; ++bit) {
      if ((digit >> bit & 1) != 0) cpus.push_back(static_cast<uint32_t>(i) * 4 + bit);
    }
  }
  return cpus;
}

// Reads "0,1*3": CPU numbers or masks ("0x4"); "*3" repeats an entry three times.
Status parse_list(std::string_view list, bool masks, CpuBind& bind) {
  if (list.empty()) {
    const std::string word(masks ? "mask_cpu:<list>" : "map_cpu:<list>");
    return failure("missing list for \"--cpu-bind=" + word + "\"");
  }
  for (std::string_view entry : split(list, ',')) {
    if (masks && entry.starts_with("0x")) entry.remove_prefix(2);
    uint64_t times = 1;
    if (const size_t star = entry.find('*'); star != std::string_view::npos) {
      const std::string_view number = entry.substr(star + 1);
      const auto bad = std::find_if_not(number.begin(), number.end(), is_digit);
      if (bad != number.end()) return failure(not_a_number(entry.substr(star), *bad));
      const auto count = parse_unsigned(number, kLongestList);
      if (!count || *count == 0)
        return failure("Invalid " + bind.word + " multiplier: " + std::string(number));
      times = *count;
      entry = entry.substr(0, star);
    }
    const auto bad = std::find_if_not(entry.begin(), entry.end(),
                                      [&](char c) { return masks ? hexadecimal(c) >= 0 : is_digit(c); });
    if (bad != entry.end()) return failure(not_a_number(entry, *bad));
    std::vector<uint32_t> cpus;
    if (masks) {
      auto parsed = parse_mask(entry);
      if (!parsed) return failure(parsed.error());
      cpus = std::move(*parsed);
    } else {
      const auto cpu = parse_unsigned(entry, kMostCpus - 1);
      if (!cpu) return failure("not a CPU: " + std::string(entry));
      cpus = {static_cast<uint32_t>(*cpu)};
    }
    if (bind.cpus.size() + times > kLongestList) return failure("too many entries");
    bind.cpus.insert(bind.cpus.end(), times, cpus);
  }
  return {};
}

// Reads "map_cpu:0,1" or "mask_cpu:0x3". The list contains the commas, so it extends to the end.
Status read_list(std::string_view text, bool map, CpuBind& bind) {
  bind.kind = map ? CpuBind::kMap : CpuBind::kMask;
  bind.word = map ? "map_cpu" : "mask_cpu";  // Slurm's messages about multipliers omit the colon
  bind.list = text.substr(text.find(':') + 1);
  if (const Status read = parse_list(bind.list, !map, bind); !read) return read;
  bind.word += ':';
  return {};
}

// Binding to parts of the machine. Returns nothing if `word` names none; "socket" and "sockets" are the same.
std::optional<std::string_view> topology_word(std::string_view word) {
  constexpr std::string_view kTopology[] = {"sockets",   "cores",     "threads",    "ldoms",     "boards",
                                            "rank_ldom", "map_ldom:", "mask_ldom:", "nosockets", "nocores",
                                            "nothreads", "noldoms",   "autobind",   "one_thread"};
  for (const std::string_view name : kTopology) {
    if (name.ends_with(':')
            ? starts_with_ignoring_case(word, name)
            : is(word, name) || (name.ends_with('s') && is(word, name.substr(0, name.size() - 1))))
      return name;
  }
  return std::nullopt;
}

// Reads a word without a list of CPUs. Returns false if it is unknown.
bool read_word(std::string_view word, CpuBind& bind) {
  if (is(word, "q") || is(word, "quiet")) {
    bind.verbose = false;
  } else if (is(word, "v") || is(word, "verbose")) {
    bind.verbose = true;
  } else if (is(word, "no") || is(word, "n") || is(word, "none")) {
    bind.kind = CpuBind::kNone;
    bind.word = "none";
  } else if (is(word, "rank")) {
    bind.kind = CpuBind::kRank;
    bind.word = "rank";
  } else if (const auto topology = topology_word(word)) {
    bind.kind = CpuBind::kTopology;
    bind.word = *topology;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<CpuBind> parse_cpu_bind(std::string_view text) {
  CpuBind bind;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto begins = [&](std::string_view name, std::string_view joined) {
      return starts_with_ignoring_case(rest, name) || starts_with_ignoring_case(rest, joined);
    };
    const bool map = begins("map_cpu:", "mapcpu:");
    if (map || begins("mask_cpu:", "maskcpu:")) {
      if (const Status read = read_list(rest, map, bind); !read) return failure(read.error());
      return bind;
    }
    const std::string_view word = rest.substr(0, rest.find(','));
    if (!read_word(word, bind))
      return failure("unrecognized --cpu-bind argument \"" + std::string(text) + "\"");
    if (bind.kind == CpuBind::kTopology && bind.word.ends_with(':')) return bind;  // the rest is its list
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return bind;
}

std::string cpu_bind_type(const CpuBind& bind) {
  std::string word = bind.word;
  if (word.ends_with(':')) word.pop_back();
  if (!bind.verbose) return word.empty() ? "(null type)" : word;
  return word.empty() ? "verbose" : "verbose," + word;
}

std::string format_cpu_mask(const std::vector<uint32_t>& cpus) {
  const uint32_t highest = cpus.empty() ? 0 : *std::max_element(cpus.begin(), cpus.end());
  std::string digits(highest / 4 + 1, '0');
  for (const uint32_t cpu : cpus) {
    char& digit = digits[digits.size() - 1 - cpu / 4];
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    digit = "0123456789abcdef"[value | 1 << cpu % 4];
  }
  return "0x" + digits;
}

}  // namespace minke::text
