// A message to a user that is not about a job. Pure but for the sending; one thread.
#pragma once

#include <cstdint>
#include <string>

#include "helpers/mail/compose.h"

namespace minke::model {
class MailSettings;
}  // namespace minke::model

namespace minke::helpers {

struct Notice {
  std::string to;  // a user, or an address
  std::string subject, body;
  std::string id;  // the same each time the same notice is sent
  std::string host;
  int64_t now = 0;  // s since the epoch
};
// Fails on a text that is no address.
Result<ReadyMail> compose_notice(const Notice& notice, const model::MailSettings& settings);

}  // namespace minke::helpers
