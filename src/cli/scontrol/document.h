// `scontrol --json show …` and `--yaml`: the records as documents. One thread; blocking.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/document_output.h"

namespace minke::cli {

// scontrol ping. Returns the exit status: 0 if the daemon answers.
int ping_document(view::DocumentFormat format, const view::DocumentOrigin& origin);
// listpids, listjobs and liststeps, as show_document.
std::optional<int> list_document(const std::vector<std::string>& words, view::DocumentFormat format,
                                 const view::DocumentOrigin& origin);
// `words` begin with "show". Prints the document, or on stderr why there is none; returns the exit status.
// Nothing is returned, and nothing was printed, where Slurm has no document and prints its text.
std::optional<int> show_document(const std::vector<std::string>& words, view::DocumentFormat format,
                                 const view::DocumentOrigin& origin);

}  // namespace minke::cli
