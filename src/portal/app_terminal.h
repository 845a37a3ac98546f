// The terminal of the portal: one shell on a pseudo-terminal, and its page, served at the socket that
// APP_SOCKET names, which only its user reaches. All pages of the session see the same shell; one that comes
// later gets what was written last. It ends with the shell. Blocking; one thread.
#pragma once

namespace minke::portal {

// Returns the shell's exit status.
int run_app_terminal();

}  // namespace minke::portal
