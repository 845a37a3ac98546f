// minke prolog-program, for the daemon's own use.
#pragma once

namespace minke::helpers {

int prolog_program_main(int argc, char** argv);

}  // namespace minke::helpers
