// Hands a message to a mail server (SMTP, with or without TLS) to the system's sendmail, or to a MailProg as
// Slurm has it.
//
// Blocks until the other side has answered, up to the timeout. libcurl speaks SMTP; it is opened at run time,
// so that no other command pays for its loading. One thread.
#pragma once

#include <memory>
#include <string>

#include "cli/mail/compose.h"
#include "model/mail.pb.h"

namespace minke::cli {

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

// Keeps a connection open for the messages that follow.
std::unique_ptr<MailSender> make_mail_sender(const model::MailSettings& settings);

}  // namespace minke::cli
