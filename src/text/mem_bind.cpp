#include "text/mem_bind.h"

#include <algorithm>

#include "text/cpu_bind.h"
#include "text/number.h"
#include "text/word.h"

namespace minke::text {
namespace {

// Returns the first character that cannot be part of a number; masks may also have hexadecimal digits.
char offending_character(std::string_view list) {
  const size_t at = list.find_first_not_of("0123456789abcdefABCDEFx,*");
  if (at != std::string_view::npos) return list[at];
  const size_t letter = list.find_first_not_of("0123456789,*");
  return letter == std::string_view::npos ? '\0' : list[letter];
}

// Reads "map_mem:0,1" or "mask_mem=0x3". The list contains the commas, so it extends to the end.
Status read_list(std::string_view text, bool map, MemBind& bind) {
  bind.kind = map ? MemBind::kMap : MemBind::kMask;
  bind.word = map ? "map_mem:" : "mask_mem:";
  const size_t colon = text.find_first_of(":=");
  if (colon == std::string_view::npos || colon + 1 == text.size())
    return failure("missing list for \"--mem-bind=" + bind.word + "<list>\"");
  bind.list = text.substr(colon + 1);
  const auto numbers = parse_cpu_bind((map ? "map_cpu:" : "mask_cpu:") + bind.list);
  if (!numbers) {
    const char wrong = offending_character(bind.list);
    return failure("Failed to validate number: " + bind.list +
                   (wrong == '\0' ? "" : std::string(", the offending character is ") + wrong));
  }
  bind.nodes = numbers->cpus;
  return {};
}

// Reads a word without a list. Returns false if it is unknown.
bool read_word(std::string_view word, MemBind& bind) {
  if (is(word, "q") || is(word, "quiet")) {
    bind.verbose = false;
  } else if (is(word, "v") || is(word, "verbose")) {
    bind.verbose = true;
  } else if (is(word, "sort") || is(word, "nosort")) {
    bind.sort = is(word, "sort");
  } else if (is(word, "p") || is(word, "prefer")) {
    bind.prefer = true;
  } else if (is(word, "no") || is(word, "none")) {
    bind.kind = MemBind::kNone;
    bind.word = "none";
  } else if (is(word, "local") || is(word, "rank")) {
    bind.kind = is(word, "rank") ? MemBind::kRank : MemBind::kLocal;
    bind.word = is(word, "rank") ? "rank" : "local";
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<MemBind> parse_mem_bind(std::string_view text) {
  MemBind bind;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto begins = [&](std::string_view name, std::string_view joined) {
      return starts_with_ignoring_case(rest, name) || starts_with_ignoring_case(rest, joined);
    };
    const bool map = begins("map_mem", "mapmem");
    if (map || begins("mask_mem", "maskmem")) {
      if (const Status read = read_list(rest, map, bind); !read) return failure(read.error());
      return bind;
    }
    const std::string_view word = rest.substr(0, rest.find(','));
    if (!read_word(word, bind))
      return failure("unrecognized --mem-bind argument \"" + std::string(word) + "\"");
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return bind;
}

}  // namespace minke::text
