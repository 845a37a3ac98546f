#include "ml/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ml/metric_parsers.h"
#include "model/usage.pb.h"

namespace minke::ml {
namespace {

using testing::HasSubstr;

std::string bytes_of(uint64_t value, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string field(uint32_t number, const std::string& text) {
  return varint(number << 3 | 2) + varint(text.size()) + text;
}
std::string number_field(uint32_t number, uint64_t value) {
  return varint(number << 3) + varint(value);
}
std::string float_field(uint32_t number, float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return varint(number << 3 | 5) + bytes_of(bits, 4);
}

uint32_t masked(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

// A record of TensorBoard: a scalar at a step.
std::string event(const std::string& tag, uint64_t step, float value) {
  const std::string data = number_field(2, step) + field(5, field(1, field(1, tag) + float_field(2, value)));
  constexpr Crc32 crc(0x82f63b78);
  const std::string length = bytes_of(data.size(), 8);
  return length + bytes_of(masked(crc(length)), 4) + data + bytes_of(masked(crc(data)), 4);
}

// A run of W&B with these records, cut into fragments at the ends of blocks.
std::string wandb_run(const std::vector<std::string>& records) {
  std::string out(":W&B\xe1\xbe\0", 7);
  constexpr Crc32 crc(0xedb88320);
  for (std::string rest : records) {
    for (bool first = true;; first = false) {
      size_t left = 32768 - out.size() % 32768;
      if (left < 7) {
        out.append(left, '\0');
        left = 32768;
      }
      const std::string piece = rest.substr(0, left - 7);
      rest.erase(0, piece.size());
      const char type = rest.empty() ? (first ? 1 : 4) : (first ? 2 : 3);
      const std::string body = type + piece;
      out += bytes_of(crc(body), 4) + bytes_of(piece.size(), 2) + body;
      if (rest.empty()) break;
    }
  }
  return out;
}
std::string history(uint64_t step, const std::string& key, const std::string& json) {
  return field(2, field(1, field(1, key) + field(16, json)) + field(2, number_field(1, step)));
}

Status feed_whole(MetricParser& parser, const std::string& text, MetricSet& metrics) {
  return parser.feed(text, metrics);
}

// A parser's result must not depend on how the file is cut into pieces.
MetricSet read(const std::string& name, const std::string& text, Status* status = nullptr) {
  const auto parser = make_metric_parser(name), slow = make_metric_parser(name);
  MetricSet metrics, pieces;
  const Status whole = feed_whole(*parser, text, metrics);
  Status last;
  for (size_t at = 0; at < text.size() && last; at += 7)
    last = slow->feed(std::string_view(text).substr(at, 7), pieces);
  EXPECT_EQ(whole.has_value(), last.has_value());
  EXPECT_EQ(metrics.series().size(), pieces.series().size());
  for (const Series& one : metrics.series()) EXPECT_EQ(pieces.find(one.name)->seen, one.seen);
  if (status != nullptr) *status = whole;
  return metrics;
}

TEST(Events, ScalarsByStep) {
  std::string text;
  for (uint64_t i = 0; i < 10; ++i) text += event("loss", i, 1.0f / static_cast<float>(i + 1));
  const MetricSet metrics = read("events.out.tfevents.1.host", text);
  ASSERT_EQ(metrics.series().size(), 1u);
  EXPECT_EQ(metrics.series()[0].last.step, 9);
  EXPECT_FLOAT_EQ(static_cast<float>(metrics.series()[0].last.value), 0.1f);
  EXPECT_EQ(metrics.series()[0].largest, 1);
}

TEST(Events, WhatIsCutOffMayStillCome) {
  const std::string text = event("a", 1, 1) + event("a", 2, 2);
  for (size_t length = 0; length < text.size(); ++length) {
    Status status;
    const MetricSet metrics = read("events.out.tfevents.1", text.substr(0, length), &status);
    EXPECT_TRUE(status) << length;
    EXPECT_EQ(metrics.empty(), length < text.size() / 2);
  }
}

TEST(Events, DamageIsSaidAndWhatCameBeforeCounts) {
  std::string text = event("a", 1, 1) + event("a", 2, 2);
  text[text.size() - 8] ^= 1;
  Status status;
  const MetricSet metrics = read("events.out.tfevents.1", text, &status);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("damaged at byte"));
  EXPECT_EQ(metrics.find("a")->seen, 1u);
}

TEST(Wandb, RecordsAcrossBlocks) {
  std::vector<std::string> records = {field(26, field(27, field(1, "job_id") + field(2, "77")))};
  for (uint64_t i = 0; i < 300; ++i) {
    records.push_back(history(i, "loss", std::to_string(i)));
    records.push_back(history(i, "long", "\"" + std::string(i == 100 ? 100000 : 500, 'x') + "\""));
  }
  const std::string text = wandb_run(records);
  const MetricSet metrics = read("run-1.wandb", text);
  ASSERT_EQ(metrics.series().size(), 1u);
  EXPECT_EQ(metrics.find("loss")->seen, 300u);
  EXPECT_EQ(metrics.find("loss")->last.value, 299);
  const auto parser = make_metric_parser("run-1.wandb");
  MetricSet again;
  ASSERT_TRUE(parser->feed(text, again));
  EXPECT_EQ(parser->job_id(), 77u);
  Status status;
  read("run-1.wandb", text.substr(0, 50000), &status);
  EXPECT_TRUE(status);
}

TEST(Wandb, WhatIsNoRun) {
  for (std::string text : {std::string("something else"), wandb_run({"x"}).replace(9, 1, "?"),
                           std::string(":W&B\xe1\xbe\1", 7)}) {
    Status status;
    read("a.wandb", text, &status);
    EXPECT_FALSE(status);
  }
}

TEST(Tables, ColumnsByTheirNames) {
  const MetricSet metrics =
      read("log.csv", "epoch,step,\"val, acc\",note\r\n1,10,0.5,x\r\n1,20,0.75,\r\n2,30,,y\r\n");
  ASSERT_EQ(metrics.series().size(), 2u);
  EXPECT_EQ(metrics.find("val, acc")->last.step, 20);
  EXPECT_EQ(metrics.find("val, acc")->largest, 0.75);
  EXPECT_EQ(read("log.tsv", "iter\tf1\n5\t0.5\n").find("f1")->last.step, 5);
  const auto parser = make_metric_parser("data.csv");
  MetricSet none;
  ASSERT_TRUE(parser->feed("width,height\n1,2\n", none));
  EXPECT_FALSE(parser->certain());  // any table
  Status status;
  read("x.csv", "step,a\n1,2,3\n", &status);
  EXPECT_FALSE(status);
}

TEST(Json, NestedNumbers) {
  const MetricSet metrics = read("m.jsonl",
                                 "{\"step\": 3, \"train\": {\"loss\": 0.5}, \"_time\": 9, \"text\": "
                                 "\"x\"}\n\n{\"step\": 4, \"train\": {\"loss\": 0.25}}\n");
  ASSERT_EQ(metrics.series().size(), 1u);
  EXPECT_EQ(metrics.find("train.loss")->last.step, 4);
  Status status;
  read("m.jsonl", "{\"step\": 3}\n[1]\n", &status);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("line 2"));
}

TEST(Metrics, ALongSeriesIsThinnedAndStaysExactAtItsEnds) {
  MetricSet metrics;
  for (int i = 0; i < 100000; ++i) {
    const double step = i;
    metrics.add("a", &step, i == 77777 ? 1e9 : i);
  }
  const Series& series = *metrics.find("a");
  EXPECT_LE(series.points.size(), MetricSet::kMaxPoints);
  EXPECT_EQ(series.seen, 100000u);
  EXPECT_EQ(series.largest, 1e9);
  EXPECT_EQ(series.last.value, 99999);
  metrics.add("b", nullptr, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(metrics.find("b"), nullptr);
  EXPECT_EQ(metrics.record(10).size(), 1);
}

TEST(Metrics, ACurve) {
  MetricSet metrics;
  EXPECT_EQ(draw_curve({}, 10, 2), "");
  for (const double step : {0.0, 1.0}) metrics.add("a", &step, step);
  EXPECT_EQ(draw_curve(*metrics.find("a"), 4, 2), "1 ⠀⠀⡠⠊\n0 ⡠⠊⠀⠀\n  0  1\n");
}

TEST(Metrics, TellWhenTheyWereWritten) {
  MetricSet metrics;
  const auto parser = make_json_parser();
  ASSERT_TRUE(
      parser->feed("{\"step\": 1, \"loss\": 2, \"timestamp\": 1795219200.5}\n{\"step\": 2, \"loss\": 1}\n"
                   "{\"step\": 3, \"loss\": 1, \"time\": 12}\n",
                   metrics));
  ASSERT_EQ(metrics.find("loss")->points.size(), 3u);
  EXPECT_EQ(metrics.find("loss")->points[0].time, 1795219200.5);
  EXPECT_EQ(metrics.find("loss")->points[1].time, 0);
  EXPECT_EQ(metrics.find("loss")->points[2].time, 0);
  const auto table = make_table_parser();
  ASSERT_TRUE(table->feed("step,wall_time,acc\n1,1795219201,0.5\n", metrics));
  EXPECT_EQ(metrics.find("acc")->points[0].time, 1795219201);
}

}  // namespace
}  // namespace minke::ml
