#include "view/colour.h"

#include <unistd.h>

#include <cstdlib>

#include "model/job_state.pb.h"

namespace minke::view {
namespace {

std::optional<bool> decided;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_word(const char* name, std::string_view word) {
  const char* value = std::getenv(name);
  return value != nullptr && word == value;
}

bool of_environment() {
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && !is_word("CLICOLOR_FORCE", "0")) return true;
  if (is_word("CLICOLOR", "0") || is_word("TERM", "dumb")) return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

std::string_view code_of(Meaning meaning) {
  switch (meaning) {
    case Meaning::kGood:
      return "32";
    case Meaning::kWaiting:
      return "33";
    case Meaning::kBad:
      return "31";
    case Meaning::kRunning:
      return "36";
    case Meaning::kDim:
      return "2";
    case Meaning::kHeading:
      return "1";
    case Meaning::kPlain:
      break;
  }
  return {};
}

}  // namespace

std::optional<ColourWish> colour_wish(std::string_view word) {
  if (word == "auto") return ColourWish::kAuto;
  if (word == "always") return ColourWish::kAlways;
  if (word == "never") return ColourWish::kNever;
  return std::nullopt;
}

void set_colour(ColourWish wish) {
  decided = wish == ColourWish::kAuto ? std::optional<bool>() : wish == ColourWish::kAlways;
}

bool has_colour() {
  if (!decided) decided = of_environment();
  return *decided;
}

std::string coloured(std::string_view text, Meaning meaning) {
  const std::string_view code = code_of(meaning);
  if (code.empty() || text.empty() || !has_colour()) return std::string(text);
  std::string out = "\x1b[";
  return out.append(code).append("m").append(text).append("\x1b[0m");
}

Meaning meaning_of(model::JobState state) {
  switch (state) {
    case model::JOB_RUNNING:
      return Meaning::kRunning;
    case model::JOB_COMPLETE:
      return Meaning::kGood;
    case model::JOB_PENDING:
    case model::JOB_SUSPENDED:
    case model::JOB_REQUEUED:
    case model::JOB_PREEMPTED:
      return Meaning::kWaiting;
    case model::JOB_CANCELLED:
      return Meaning::kDim;
    default:
      return Meaning::kBad;
  }
}

}  // namespace minke::view
