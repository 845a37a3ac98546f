// Asking and telling a search over a Unix socket, for loops that are not jobs of ours: one JSON object a
// line, and one answer to each. DIR/socket is the socket; only its owner's processes are answered. One
// thread; blocking.
//
// {"ask": {}}                                 {"trial": 1, "parameters": {…}, "budget": 3, "source": 2,
// "directory": "…"},
//                                             {"wait": true} if others must be told first, or {"done": true}
// {"report": {"trial": 1, "count": 3, "value": 0.5}}   {"stop": false}: after so many values; the last one
// {"tell": {"trial": 1, "value": 0.5}}        {"ok": true}; {"failed": "why"} in place of the value,
// "stopped": true beside it
// {"best": {}}                                {"trial": 1, "value": 0.5, "parameters": {…}}, or {} if there
// is none
//
// A trial belongs to the connection that asked for it. If that is lost, whoever asks next gets the trial: it
// counts once.
#pragma once

#include <functional>

#include "base/result.h"
#include "sweep/record.h"

namespace minke::sweep {

// `record` is steered by this process. `ready` is called once the socket is open. Returns when `interrupted`
// says so, asked ten times a second.
Status serve(Record& record, const std::function<void()>& ready, const std::function<bool()>& interrupted);

}  // namespace minke::sweep
