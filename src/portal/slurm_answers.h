// What all pages of Slurm's share: a document in the version that was asked for, with its beginning and end.
// See routes.h.
#pragma once

#include <functional>

#include "portal/routes.h"
#include "view/document/document.h"
#include "view/text.h"

namespace minke::portal {

// What a page says beside its records, with the status 200.
struct Remarks {
  std::vector<Error> errors;
  std::vector<std::string> warnings;
};

// Writes the records of a document; sets the context's time.
using Describing =
    std::function<Status(view::Document& document, view::DisplayContext& context, Remarks& remarks)>;

// The whole page. What Describing fails with is a page of errors, with the status that says so.
Result<Reply> slurm_page(Call& call, std::string_view answer, const Describing& describe);
// A page of errors alone.
Reply slurm_error(std::string_view answer, int version, const Error& error, unsigned status);

Result<Reply> submit_as_slurm(Call& call);
Result<Reply> update_as_slurm(Call& call);

std::span<const Route> slurmctld_routes();
std::span<const Route> slurm_change_routes();
std::span<const Route> slurmdbd_routes();

}  // namespace minke::portal
