// Hostlists: "n[1-3,7],m01" and the hosts it stands for.
//
// A host is a prefix and, optionally, a number at its end, which may have leading zeros. A word
// may have several brackets (the last varies fastest), but a word with a bracket must end in a
// bracket, as in Slurm. Invariant: expand(compress(hosts)) == hosts, in order. Pure; may be
// called from any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::text {

inline constexpr size_t kMaxHosts = 65536;

// Returns the hosts in the order written, with duplicates. Commas or white space separate words. Fails
// ("Invalid hostlist: ...") on bad brackets, and on more than kMaxHosts hosts.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

// `scontrol show hostlist`: neighbours that count upwards are joined, the order and duplicates stay.
std::string compress_hostlist(std::span<const std::string> hosts);

// Sorted as Slurm sorts (prefix, width, number), each host once: the form of NodeList columns.
std::string compress_hostlist_sorted(std::vector<std::string> hosts);

// Sorts as above, in place; duplicates stay. With compress_hostlist: close to `scontrol show hostlistsorted`.
void sort_hosts(std::vector<std::string>& hosts);

}  // namespace minke::text
