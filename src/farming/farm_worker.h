// The program inside a job of a farm: finds out what it may take, works, and sees at its end that others
// follow where something is left.
#pragma once

namespace minke::farming {

// argv: farm-worker DIRECTORY LEVEL. The main() of its program: returns the exit status.
int farm_worker_main(int argc, char** argv);

}  // namespace minke::farming
