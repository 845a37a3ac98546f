// Messages about jobs to web hooks (--mail-user=NAME@webhook): HTTP addresses that the job's owner has
// named in ~/.config/minke/webhooks.toml.
//
// What is sent, and to where, is the owner's word, so the owner's rights do it all: a child that has taken
// them reads the file, looks the host up, connects and posts. It holds none of this process's descriptors,
// follows no redirection, uses no proxy, and checks each address that it connects to against [mail] webhooks
// (config/webhooks.h). It has some seconds, and so have all messages of one user of a batch: what is left is
// for later. Users' messages are sent beside each other, so that no hook that is slow delays another's, or
// mail.
//
// One thread: processes are forked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/webhooks.h"
#include "helpers/mail/compose.h"
#include "helpers/mail/send.h"

namespace minke::helpers {

struct Webhook {
  uint64_t message = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;  // in the owner's file
  std::string body;  // JSON
};

// JSON: "text" and "content" (the subject: chats show one or the other), "event", "job", "name", "state",
// "exit_status", "user", "cluster".
std::string webhook_body(const MailContents& contents);

class WebhookSenders {
 public:
  using Report = std::function<void(uint64_t message, const DeliveryOutcome& outcome)>;

  // `shared`: this process is root's, and messages of root's are refused. `report` is called in other
  // processes than this one.
  WebhookSenders(config::WebhookRules rules, bool shared, Report report);
  // Starts to send; returns at once, but for what is above some users at a time.
  void start(const std::vector<Webhook>& hooks);
  // Waits until all is sent or reported, for a bounded time.
  void wait();

 private:
  void send_all(const std::vector<Webhook>& hooks) const;
  DeliveryOutcome send(const Webhook& hook) const;

  config::WebhookRules rules_;
  bool shared_;
  Report report_;
  std::vector<pid_t> running_;
};

}  // namespace minke::helpers
