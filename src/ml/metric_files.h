// The files in which training programs write their metrics, read piece by piece as they grow: W&B offline
// runs
// (.wandb), TensorBoard's event files, CSV, and JSON lines.
//
// A file that ends within a record is one that is still being written: what is missing may come. A record
// that is damaged is an error, and nothing is read behind it. Pure; one thread at a time.
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
  // The file's next bytes. Errors: what is wrong, and that for good.
  virtual Status feed(std::string_view bytes, MetricSet& metrics) = 0;
  // Bytes of a record whose end has not come yet.
  virtual size_t unread() const = 0;
  // The Slurm job that the file names as its own; 0: it names none.
  virtual uint32_t job_id() const { return 0; }
  // Whether it is certain to hold metrics; a CSV file without a column that counts steps may hold anything.
  virtual bool certain() const { return true; }
};

// By the file's name (the last part of its path). Null: it is none of these files.
std::unique_ptr<MetricParser> make_metric_parser(std::string_view file_name);

}  // namespace minke::ml
