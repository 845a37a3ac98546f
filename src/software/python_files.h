// The files of software/python/, which go beside the wheels.
#pragma once

namespace minke::software {

extern const char kVirtualenvFile[];
extern const char kPipFile[];

}  // namespace minke::software
