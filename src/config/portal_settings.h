// [portal] of minke.toml: what the portal's pages say of this site, and what they count for its hours. They
// do not concern the cluster, so they are not part of Configuration: the portal reads them. Blocking; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "clusters/costs.h"

namespace minke::config {

class Table;

struct PortalSettings {
  bool is_public = false;             // of a shared portal: pages on the cluster as a whole need no log-in
  std::vector<std::string> messages;  // to all, on the first page
  clusters::Costs costs;
  bool has_own_costs = false;                     // of the site's own; else those of Narval
  std::string app_directory = "/etc/minke/apps";  // the site's interactive applications, a directory each
  std::string operators;  // of the whole file: the group of users who operate the cluster; empty: root alone
};

void check_portal_settings(Table& section);  // load_portal_settings() is for the portal, which needs them

// Of the file of the cluster's configuration; the defaults if there is none, or it is not a minke.toml.
PortalSettings load_portal_settings(const std::string& path);

}  // namespace minke::config
