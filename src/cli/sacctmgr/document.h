// `sacctmgr --json show …` and `--yaml`. Where Slurm has no document, nothing is returned and nothing was
// printed: it prints its text. One thread; blocking.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/show.h"
#include "cli/sacctmgr/show_fields.h"

namespace minke::cli {

// Prints the records of the lines; `entity` is "accounts", "users" … Returns the exit status.
std::optional<int> show_document(AccountingSession& session, std::string_view entity,
                                 std::span<const ShownLine> lines, bool with_associations,
                                 const ShowStyle& style);
// sacctmgr ping, of the daemon that keeps the accounts.
std::optional<int> ping_accounting(const ShowStyle& style);
// Those that no lines tell: configuration, instances, statistics. `given` may be abbreviated.
std::optional<int> show_document_of_its_own(AccountingSession& session, std::string_view given,
                                            const ShowStyle& style);

}  // namespace minke::cli
