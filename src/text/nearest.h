// The known word that somebody most likely meant by a word that is not known: "--tme" is "--time".
//
// Pure; may be called from any thread.
#pragma once

#include <span>
#include <string_view>

namespace minke::text {

// Returns how many letters must be added, removed, changed or exchanged with their neighbour to turn one word
// into the other (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// Returns the candidate at the least distance, the first of several; empty where all are too far away: a
// third of the word's letters may be wrong, two at most. A word of three letters and more that begins a
// single candidate means that one.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace minke::text
