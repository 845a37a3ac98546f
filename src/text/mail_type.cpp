#include "text/mail_type.h"

#include <algorithm>
#include <iterator>

#include "text/number.h"

namespace minke::text {

namespace {

struct Word {
  std::string_view name;
  uint16_t types;
};

constexpr uint16_t kAll =
    kMailInvalidDepend | kMailBegin | kMailEnd | kMailFail | kMailRequeue | kMailStageOut;

// First the words for one kind, in scontrol's order, then the words for several kinds or none.
constexpr Word kWords[] = {
    {"ARRAY_TASKS", kMailArrayTasks},
    {"INVALID_DEPEND", kMailInvalidDepend},
    {"BEGIN", kMailBegin},
    {"END", kMailEnd},
    {"FAIL", kMailFail},
    {"REQUEUE", kMailRequeue},
    {"STAGE_OUT", kMailStageOut},
    {"TIME_LIMIT_50", kMailLimit50},
    {"TIME_LIMIT_80", kMailLimit80},
    {"TIME_LIMIT_90", kMailLimit90},
    {"TIME_LIMIT", kMailLimit},
    {"ALL", kAll},
    {"NONE", 0},
};

const Word* find(std::string_view word) {
  const auto* found = std::find_if(std::begin(kWords), std::end(kWords),
                                   [&](const Word& one) { return equals_ignoring_case(one.name, word); });
  return found == std::end(kWords) ? nullptr : found;
}

}  // namespace

bool is_mail_type(std::string_view word) {
  return find(word) != nullptr;
}

uint16_t parse_mail_types(std::string_view list) {
  uint16_t types = 0;
  for (const std::string_view word : split(list, ',')) {
    const Word* known = find(trim(word));
    if (known == nullptr) continue;
    if (known->types == 0) return 0;
    types = static_cast<uint16_t>(types | known->types);
  }
  return types;
}

std::string format_mail_types(uint16_t types) {
  std::string out;
  for (const Word& word : kWords) {
    const bool single = (word.types & (word.types - 1)) == 0 && word.types != 0;
    if (single && (types & word.types) != 0) out.append(out.empty() ? "" : ",").append(word.name);
  }
  return out;
}

}  // namespace minke::text
