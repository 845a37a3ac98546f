// `scontrol --json show …` and `--yaml`: the records as documents. One thread; blocking.
#pragma once

#include <string>
#include <vector>

#include "cli/document/output.h"

namespace minke::cli {

// scontrol ping. The exit status: 0 where the daemon answers.
int ping_document(DocumentFormat format, const DocumentOrigin& origin);
// `words` begin with "show". Prints the document, or on stderr why there is none; returns the exit status.
int show_document(const std::vector<std::string>& words, DocumentFormat format, const DocumentOrigin& origin);

}  // namespace minke::cli
