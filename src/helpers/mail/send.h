// Passes a message to a mail server (SMTP, with or without TLS), to the system's sendmail, or to a
// MailProg as Slurm does.
//
// Blocks until the other side has answered, up to the timeout. libcurl speaks SMTP; it is opened at run time,
// so that no other command pays for its loading. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "helpers/mail/compose.h"
#include "os/user_child.h"

namespace minke::model {
class MailSettings;
}  // namespace minke::model

namespace minke::helpers {

enum class Delivery {
  kSent,
  kLater,    // worth another try
  kRefused,  // for good
};
struct DeliveryOutcome {
  Delivery delivery = Delivery::kLater;
  std::string reason;  // one line; empty when sent
};

class MailSender {
 public:
  virtual ~MailSender() = default;
  virtual DeliveryOutcome send(const ReadyMail& mail) = 0;
};

// Returns the rights of a mail program in a shared cluster, where root would start it: those of a system
// user, by name ([mail] run_as), or nobody's. Its arguments and its input contain text that users chose.
// Fails if there is no such user, or it is root.
Result<os::Rights> mail_program_rights(const std::string& run_as);

// Keeps a connection open for the next messages. `rights` are for a mail program; absent: this process's.
std::unique_ptr<MailSender> make_mail_sender(const model::MailSettings& settings,
                                             const std::optional<os::Rights>& rights);

}  // namespace minke::helpers
