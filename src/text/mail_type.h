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

// "BEGIN,END": unknown words are left out; NONE among them is none at all, as in Slurm.
uint16_t parse_mail_types(std::string_view list);

// In the order in which scontrol shows them, ALL as what it stands for: "BEGIN,END".
std::string format_mail_types(uint16_t types);

}  // namespace minke::text
