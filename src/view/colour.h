// Colour by meaning, for people at a terminal: good is green, waiting yellow, bad red, what matters little
// dim.
//
// Words carry the meaning, colour only repeats it: a screen reader and a file lose nothing. Whether there is
// colour is decided once in a process: by set_colour(), else by the variables that programs agree on
// (NO_COLOR, CLICOLOR_FORCE, CLICOLOR, TERM=dumb), else by whether standard output is a terminal. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::model {
enum JobState : int;
}  // namespace minke::model

namespace minke::view {

enum class ColourWish : uint8_t { kAuto, kAlways, kNever };
std::optional<ColourWish> colour_wish(std::string_view word);  // "auto", "always", "never"
void set_colour(ColourWish wish);
bool has_colour();

enum class Meaning : uint8_t { kPlain, kGood, kWaiting, kBad, kRunning, kDim, kHeading };
// Returns the text between the codes of its colour; the text itself without colour, or where it is empty.
std::string coloured(std::string_view text, Meaning meaning);
Meaning meaning_of(model::JobState state);

}  // namespace minke::view
