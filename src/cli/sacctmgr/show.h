// sacctmgr show (or list): the tables of accounts, associations, users, QOS and what else there is.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cli/display/print_fields.h"
#include "cli/document/output.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/words.h"

namespace minke::cli {

struct ShowStyle {
  PrintLayout layout = PrintLayout::kFixed;
  bool no_header = false;
  bool with_associations = false;  // -s
  std::optional<DocumentFormat> document;
  DocumentOrigin origin;  // of the document
};

// `words`: all behind the entity. The exit status.
int show_entity(AccountingSession& session, std::string_view entity, std::span<char* const> words,
                const ShowStyle& style);

// sacctmgr show configuration. The exit status.
int show_configuration(AccountingSession& session);

}  // namespace minke::cli
