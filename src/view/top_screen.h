// The screen of minke top: GPUs first, then processors and memory, running jobs, jobs that wait, and the
// keys.
//
// It fits what it shows into the terminal: at 80 columns a job has its GPU, processors, memory and the time
// that is left; with 120 and more also what it reads and writes, its peak and its processes. A bar repeats
// the number beside it. Pure but for the decision on colour (view/colour.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minke::api {
class MeasurementsReply;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::view {

enum class TopOrder : uint8_t { kCores, kMemory, kGpu, kTimeLeft, kJob };

struct TopView {
  size_t rows = 0;     // of the terminal; 0: no terminal, all lines, ended by a line feed
  size_t columns = 0;  // 0: 200
  TopOrder order = TopOrder::kCores;
  bool shows_keys = false;
};

// `waiting`: in the order of the queue, without their specs; may be empty.
std::string top_screen(const api::MeasurementsReply& reply,
                       const std::vector<const model::JobRecord*>& waiting, const TopView& how);

}  // namespace minke::view
