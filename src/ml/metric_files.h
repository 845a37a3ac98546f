// The files in which training programs write their metrics, read piece by
// piece as they grow: W&B offline runs (.wandb), TensorBoard's event files,
// CSV, and JSON lines.
//
// A file that ends within a record is still being written: the rest may come. A damaged record is an error,
// and nothing behind it is read. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ml/metrics.h"

namespace minke::ml {

class MetricParser {
 public:
  virtual ~MetricParser() = default;
  // Takes the file's next bytes. An error says what is wrong, and is permanent.
  virtual Status feed(std::string_view bytes, MetricSet& metrics) = 0;
  // Returns the bytes of an incomplete record.
  virtual size_t unread() const = 0;
  // Returns the Slurm job that the file names as its own; 0 if it names none.
  virtual uint32_t job_id() const { return 0; }
  // Whether it surely has metrics; a CSV file without a column of steps may hold anything.
  virtual bool certain() const { return true; }
};

// Chooses by the file's name (the last part of its path). Returns null for any other file.
std::unique_ptr<MetricParser> make_metric_parser(std::string_view file_name);

}  // namespace minke::ml
