// minke say-to-owner PID START UID GID, for the daemon's own use (engine/embedded/watching/owner_notices.h):
// appends its standard input, as one line, to the standard error of a user's process.
//
// A child with the user's rights opens and writes it: files that the user may not write stay unchanged. This
// process waits for the child for some seconds at most, and then kills it. One thread.
#pragma once

namespace minke::helpers {

int say_to_owner_main(int argc, char** argv);

}  // namespace minke::helpers
