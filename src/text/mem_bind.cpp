#include "text/mem_bind.h"

#include <algorithm>

#include "text/cpu_bind.h"
#include "text/number.h"

namespace minke::text {
namespace {

// The first character that no number has; of masks, hexadecimal ones have more.
char offending_character(std::string_view list) {
  const size_t at = list.find_first_not_of("0123456789abcdefABCDEFx,*");
  if (at != std::string_view::npos) return list[at];
  const size_t letter = list.find_first_not_of("0123456789,*");
  return letter == std::string_view::npos ? '\0' : list[letter];
}

}  // namespace

Result<MemBind> parse_mem_bind(std::string_view text) {
  MemBind bind;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const auto is = [&](std::string_view name) { return equals_ignoring_case(word, name); };
    const auto begins = [&](std::string_view name, std::string_view joined) {
      return starts_with_ignoring_case(rest, name) || starts_with_ignoring_case(rest, joined);
    };
    const bool map = begins("map_mem", "mapmem");
    if (map || begins("mask_mem", "maskmem")) {
      // Its list goes on to the end: it has the commas.
      bind.kind = map ? MemBind::kMap : MemBind::kMask;
      bind.word = map ? "map_mem:" : "mask_mem:";
      const size_t colon = rest.find_first_of(":=");
      if (colon == std::string_view::npos || colon + 1 == rest.size())
        return failure("missing list for \"--mem-bind=" + bind.word + "<list>\"");
      bind.list = rest.substr(colon + 1);
      const auto numbers = parse_cpu_bind((map ? "map_cpu:" : "mask_cpu:") + bind.list);
      if (!numbers) {
        const char wrong = offending_character(bind.list);
        return failure("Failed to validate number: " + bind.list +
                       (wrong == '\0' ? "" : std::string(", the offending character is ") + wrong));
      }
      bind.nodes = numbers->cpus;
      return bind;
    }
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (is("q") || is("quiet")) {
      bind.verbose = false;
    } else if (is("v") || is("verbose")) {
      bind.verbose = true;
    } else if (is("sort") || is("nosort")) {
      bind.sort = is("sort");
    } else if (is("p") || is("prefer")) {
      bind.prefer = true;
    } else if (is("no") || is("none")) {
      bind.kind = MemBind::kNone;
      bind.word = "none";
    } else if (is("local") || is("rank")) {
      bind.kind = is("rank") ? MemBind::kRank : MemBind::kLocal;
      bind.word = is("rank") ? "rank" : "local";
    } else {
      return failure("unrecognized --mem-bind argument \"" + std::string(word) + "\"");
    }
  }
  return bind;
}

}  // namespace minke::text
