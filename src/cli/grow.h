// minke grow: from one machine to many (grow/growing.h). One thread; called at most once in a process.
#pragma once

namespace minke::cli {

int grow_main(int argc, char** argv);

}  // namespace minke::cli
