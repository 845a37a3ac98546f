// `scontrol --json show …` and `--yaml`: the records as documents. One thread; blocking.
#pragma once

#include <string>
#include <vector>

#include "cli/document_output.h"

namespace minke::cli {

// scontrol ping. Returns the exit status: 0 if the daemon answers.
int ping_document(view::DocumentFormat format, const view::DocumentOrigin& origin);
// `words` begin with "show". Prints the document, or on stderr why there is none; returns the exit status.
int show_document(const std::vector<std::string>& words, view::DocumentFormat format,
                  const view::DocumentOrigin& origin);

}  // namespace minke::cli
