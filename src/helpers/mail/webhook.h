// Messages about jobs to web hooks (--mail-user=NAME@webhook): HTTP addresses that the job's owner has
// named in ~/.config/minke/webhooks.toml.
//
// A process with the owner's rights (by_owner.h) reads the file, looks the host up, connects and posts. It
// follows no redirection, uses no proxy, and checks each address that it connects to against [mail] webhooks
// (config/webhooks.h). One thread.
#pragma once

#include <string>

#include "helpers/mail/by_owner.h"

namespace minke::helpers {

// JSON: "text" and "content" (the subject: chats show one or the other), "event", "job", "name", "state",
// "exit_status", "user", "cluster".
std::string webhook_body(const MailContents& contents);

// Runs with the owner's rights, and blocks for some seconds.
DeliveryOutcome post_to_webhook(const OwnMessage& message, bool shared, const config::WebhookRules& rules);

}  // namespace minke::helpers
