// The site of a portal: what the machine's administrators say of it, and their log of what people change at
// the shared portal. On a shared cluster of Minke's both are the cluster's; on a Slurm of its own they are
// the machine's, /etc/minke.toml and /var/lib/minke. Any process of the portal; blocking.
#pragma once

#include <string>

#include "config/portal_settings.h"

namespace minke::portal {

// The settings of the cluster's configuration; of the site's, if the cluster has none of Minke's.
config::PortalSettings site_settings();

// The file that shared_actions_logged() reads. It need not be there.
std::string shared_log_file();

}  // namespace minke::portal
