// Any bytes in any kind of metric file, in pieces: series that are finite and bounded, or an error.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ml/metric_files.h"

using namespace minke::ml;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static constexpr const char* kNames[] = {"a.wandb", "events.out.tfevents.1", "a.csv", "a.tsv", "a.jsonl"};
  const auto parser = make_metric_parser(kNames[data[0] % 5]);
  const size_t piece = data[1] + size_t{1};
  const std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  MetricSet metrics;
  for (size_t at = 0; at < text.size(); at += piece) {
    if (!parser->feed(text.substr(at, piece), metrics)) break;
  }
  MINKE_CHECK(metrics.series().size() <= MetricSet::kMaxSeries);
  for (const Series& one : metrics.series()) {
    MINKE_CHECK(one.points.size() <= MetricSet::kMaxPoints && std::isfinite(one.last.value) &&
                one.least <= one.largest);
    (void)draw_curve(one, 20, 3);
  }
  return 0;
}
