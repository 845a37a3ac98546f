// sacctmgr show (or list): the tables of accounts, associations, users, QOS and other entities.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cli/document_output.h"
#include "cli/sacctmgr/session.h"
#include "cli/sacctmgr/words.h"
#include "view/print_fields.h"

namespace minke::cli {

struct ShowStyle {
  view::PrintLayout layout = view::PrintLayout::kFixed;
  bool no_header = false;
  bool with_associations = false;  // -s
  std::optional<view::DocumentFormat> document;
  view::DocumentOrigin origin;  // of the document
};

// `words` are all those behind the entity. Returns the exit status.
int show_entity(AccountingSession& session, std::string_view entity, std::span<char* const> words,
                const ShowStyle& style);

// sacctmgr show configuration. Returns the exit status.
int show_configuration(AccountingSession& session);

}  // namespace minke::cli
