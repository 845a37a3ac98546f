// The worker of a person at a shared portal: a process with his rights, which the door starts. It answers the
// front's requests over a socket, as a personal portal answers its own, and tells it what changes. It ends
// when the front closes the socket. Blocking.
#pragma once

namespace minke::portal {

// `channel`: frames (frames.h), both ways. Returns the exit status.
int run_worker(int channel);

}  // namespace minke::portal
