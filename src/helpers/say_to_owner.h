// minke say-to-owner PID START UID GID, for the daemon's own use (engine/embedded/watching/owner_notices.h):
// appends its standard input, as one line, to what a process of the user's has as its standard error.
//
// A child with the user's rights opens and writes it: what he may not write stays as it is. This process
// waits for that child for seconds at most, and then kills it. One thread.
#pragma once

namespace minke::helpers {

int say_to_owner_main(int argc, char** argv);

}  // namespace minke::helpers
