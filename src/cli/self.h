// minke self: this program itself, installed, replaced by another version, and removed. One thread; blocking.
#pragma once

#include <string>

namespace minke::cli {

// Copies it to the directory: ~/.local/bin where `directory` is empty, /usr/local/bin for root.
int self_install(std::string directory);
// Puts the program of a file (an archive of ./dev package, or the program itself) in this one's place. It
// must run here. A daemon that runs goes on with the old one.
int self_update(const std::string& file);
// Removes it, and what minke env --install has put into shells. Jobs and records stay, and their place is
// printed. Refused while the cluster runs.
int self_uninstall();

}  // namespace minke::cli
