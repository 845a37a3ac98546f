// Web hooks: HTTP addresses to which messages about jobs go (--mail-user=NAME@webhook).
//
// Two files: [mail] webhooks of minke.toml says where the cluster sends to; a user's own
// ~/.config/minke/webhooks.toml has a name for each address, so that no address, which mostly has a secret in
// it, is in a job's public record. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::config {

struct WebhookRules {
  enum class Reach {
    kNone,    // nowhere
    kHosts,   // hosts of these names, at any address
    kPublic,  // hosts with public addresses
    kAny,     // everywhere
  };
  Reach reach = Reach::kNone;
  std::vector<std::string> hosts;  // lower case; ".example.org" is example.org and all below it
};

// Adds a word of [mail] webhooks: "none", "public", "any" or the name of a host. Fails on what is none of
// these, and on a word beside hosts.
Status add_webhook_rule(WebhookRules& rules, const std::string& word);

// The address of that name in the text of a user's file: `chat = "https://…"`. Fails with what to write.
Result<std::string> webhook_address(std::string_view file, const std::string& name);

// The host of an address, in lower case, without the brackets of IPv6. Fails on what is not
// http://HOST[:PORT][/…] or https://…, also on names and passwords in it, which parsers read differently.
Result<std::string> webhook_host(std::string_view address);

// Whether the rules let messages go to a host of this name. With kPublic its address has to be asked for,
// too.
bool admits_host(const WebhookRules& rules, std::string_view host);

}  // namespace minke::config
