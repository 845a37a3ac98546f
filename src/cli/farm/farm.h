// minke farm: many cases as one piece of work. One thread.
#pragma once

namespace minke::cli {

// argv[0] is "farm". Returns the exit status.
int farm_main(int argc, char** argv);

}  // namespace minke::cli
