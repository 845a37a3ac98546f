#include "ml/metric_files.h"

#include "ml/metric_parsers.h"

namespace minke::ml {

std::unique_ptr<MetricParser> make_metric_parser(std::string_view name) {
  if (name.ends_with(".wandb")) return make_wandb_parser();
  if (name.find("tfevents") != std::string_view::npos) return make_event_parser();
  if (name.ends_with(".csv") || name.ends_with(".tsv")) return make_table_parser();
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson")) return make_json_parser();
  return nullptr;
}

}  // namespace minke::ml
