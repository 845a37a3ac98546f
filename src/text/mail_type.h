// The kinds of --mail-type, as a set of bits.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minke::text {

enum MailType : uint16_t {
  kMailInvalidDepend = 1,
  kMailBegin = 2,
  kMailEnd = 4,
  kMailFail = 8,
  kMailRequeue = 16,
  kMailStageOut = 32,  // of burst buffers
  kMailLimit50 = 64,
  kMailLimit80 = 128,
  kMailLimit90 = 256,
  kMailLimit = 512,
  kMailArrayTasks = 1024,
};
inline constexpr uint16_t kMailLimits = kMailLimit50 | kMailLimit80 | kMailLimit90 | kMailLimit;

// Whether Slurm knows the word; the case does not matter.
bool is_mail_type(std::string_view word);

// Reads "BEGIN,END". Unknown words are ignored; NONE anywhere clears the whole list, as in Slurm.
uint16_t parse_mail_types(std::string_view list);

// Writes the kinds in scontrol's order, with ALL spelled out: "BEGIN,END".
std::string format_mail_types(uint16_t types);

}  // namespace minke::text
