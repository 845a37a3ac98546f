// A text in the user's editor ($VISUAL, $EDITOR, else vi), as crontab -e does it. Blocks until the editor has
// ended; for programs of one thread (a child is forked).
#pragma once

#include <string>

#include "base/result.h"

namespace minke::os {

// Returns the text as the user left it, of `most` bytes at most (EFBIG if it is larger). It stands meanwhile
// in a file of $TMPDIR that only the user may read; `name` begins the file's name. Fails if the editor does.
Result<std::string> edit_text(const std::string& text, const std::string& name, size_t most);

}  // namespace minke::os
