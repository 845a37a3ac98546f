// `scontrol --json show …` and `--yaml`: the records as documents. One thread; blocking.
#pragma once

#include <string>
#include <vector>

#include "cli/document/output.h"

namespace minke::cli {

// `words` begin with "show". Prints the document, or on stderr why there is none; returns the exit status.
int show_document(const std::vector<std::string>& words, DocumentFormat format, const DocumentOrigin& origin);

}  // namespace minke::cli
