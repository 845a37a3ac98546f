// Messages about jobs that leave with the rights of the job's owner: to web hooks and to commands of the
// owner's own (--mail-user=NAME@webhook, NAME@command).
//
// What is sent, to where, and what runs is the owner's word, so children do it that have the owner's rights
// and none of this process's descriptors. Each has some seconds, and so have all messages of one user of a
// batch: what is left is for later. Users' messages are sent beside each other, so that none that is slow
// delays another's, or mail.
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

enum class OwnWay { kWebhook, kCommand };

struct OwnMessage {
  uint64_t message = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  OwnWay way = OwnWay::kWebhook;
  std::string name;                    // in the owner's file
  std::string body;                    // of a web hook: JSON
  std::vector<std::string> variables;  // of a command: "MINKE_JOB_ID=12"
};

// A file of a user's settings: ~/.config/minke/`name`. In a cluster of the user's own, HOME says where it is,
// as everywhere. For a process with the owner's rights.
Result<std::string> read_own_file(uid_t uid, bool shared, const std::string& name);

// The word for an event in what a web hook or a command is told: "END".
std::string_view mail_event_name(model::MailEvent event);

class OwnSenders {
 public:
  using Report = std::function<void(uint64_t message, const DeliveryOutcome& outcome)>;
  struct Rules {
    config::WebhookRules webhooks;
    bool commands = false;  // whether they run at all
    std::string home;       // the cluster's
    bool shared = false;    // this process is root's, and messages of root's are refused
  };

  // `report` is called in other processes than this one.
  OwnSenders(Rules rules, Report report);
  // Starts to send; returns at once, but for what is above some users at a time.
  void start(const std::vector<OwnMessage>& messages);
  // Waits until all is sent or reported, for a bounded time.
  void wait();

 private:
  void send_all(const std::vector<OwnMessage>& messages) const;
  DeliveryOutcome send(const OwnMessage& message) const;

  Rules rules_;
  Report report_;
  std::vector<pid_t> running_;
};

}  // namespace minke::helpers
