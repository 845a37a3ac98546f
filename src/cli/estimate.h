// minke estimate: the GPU memory that a model needs, and the request for each cluster. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace minke::cli {

struct EstimateOptions {
  std::string model;               // a directory, a size, or a well-known name
  std::string task = "inference";  // inference, full, lora, qlora: the purpose of the #SBATCH lines
  std::string precision = "bf16";
  std::string cache_precision = "bf16";
  std::string optimizer = "adamw";
  std::string time = "3:00:00";
  std::string cluster;   // only this one, or "here"; empty: all
  uint64_t context = 0;  // 0: 8192, or as many as the model is made for
  uint64_t batch = 1;
  uint32_t rank = 16;
  bool published = false;  // compare with the published tables instead
  bool json = false;
};
int estimate(const EstimateOptions& options);

}  // namespace minke::cli
