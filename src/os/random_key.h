// Keys that nobody guesses or uses twice. Any thread.
#pragma once

#include <string>

namespace minke::os {

// 16 bytes: the key of a submission or a step, by which one that is sent twice is recognised.
std::string random_key();

}  // namespace minke::os
