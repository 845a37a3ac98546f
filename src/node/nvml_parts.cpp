#include "node/nvml_parts.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

namespace minke::node {
namespace {

using model::GpuPart;

// The library's types and numbers, as in nvml.h of CUDA 12.
constexpr int kSuccess = 0;
constexpr unsigned kVersion = 1;  // NVML_GPM_SUPPORT_VERSION, NVML_GPM_METRICS_GET_VERSION
struct GpmSupport {
  unsigned version, is_supported;
};
struct GpmMetric {
  unsigned id;
  int code;  // of this one
  double value;
  const char* texts[3];
};
// The library reads `count` metrics. Its own array had 98 places in CUDA 12.0, and 333 in CUDA 13.
struct GpmComparison {
  unsigned version, count;
  void *before, *after;
  GpmMetric metrics[512];
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int code;
  union {
    unsigned of_32_bits;
    unsigned long long of_64_bits;
  };
};
enum ValueType : unsigned { kUnsigned = 1, kUnsignedLong = 2, kUnsignedLongLong = 3 };
constexpr unsigned kLinkCount = 91;         // NVML_FI_DEV_NVLINK_LINK_COUNT
constexpr unsigned kLinkSent = 138;         // NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX: a total of KiB
constexpr unsigned kLinkReceived = 139;     // NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX
constexpr unsigned kAllLinks = 0xffffffff;  // a scope
enum PcieCounter : unsigned { kPcieSent = 0, kPcieReceived = 1 };

// nvmlGpmMetricId_t. "Sent" is what the GPU sends (TX).
struct Metric {
  unsigned id;
  GpuPart part;
  double scale;  // from percent to thousandths, from MiB/s to KiB/s
};
constexpr double kOfPercent = 10, kOfMib = 1024;
constexpr Metric kMetrics[] = {
    {2, model::GPU_SM_ACTIVE, kOfPercent},     // NVML_GPM_METRIC_SM_UTIL
    {3, model::GPU_SM_OCCUPANCY, kOfPercent},  // NVML_GPM_METRIC_SM_OCCUPANCY
    {5, model::GPU_TENSOR, kOfPercent},        // NVML_GPM_METRIC_ANY_TENSOR_UTIL
    {10, model::GPU_DRAM, kOfPercent},         // NVML_GPM_METRIC_DRAM_BW_UTIL
    {11, model::GPU_FP64, kOfPercent},         // NVML_GPM_METRIC_FP64_UTIL, without tensor cores, as the next
    {12, model::GPU_FP32, kOfPercent},         // NVML_GPM_METRIC_FP32_UTIL
    {13, model::GPU_FP16, kOfPercent},         // NVML_GPM_METRIC_FP16_UTIL
    {20, model::GPU_PCIE_SENT, kOfMib},        // NVML_GPM_METRIC_PCIE_TX_PER_SEC
    {21, model::GPU_PCIE_RECEIVED, kOfMib},    // NVML_GPM_METRIC_PCIE_RX_PER_SEC
    {60, model::GPU_NVLINK_RECEIVED, kOfMib},  // NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC
    {61, model::GPU_NVLINK_SENT, kOfMib},      // NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC
};
constexpr double kMostThousandths = 1000, kMostKib = 1e12;

// Between two samples. NVML refreshes its counters so seldom (nvmlGpmSampleGet).
constexpr std::chrono::milliseconds kShortest{100};

std::optional<uint64_t> value_of(const FieldValue& field) {
  if (field.code != kSuccess) return std::nullopt;
  if (field.type == kUnsigned) return field.of_32_bits;
  if (field.type == kUnsignedLong || field.type == kUnsignedLongLong) return field.of_64_bits;
  return std::nullopt;
}

}  // namespace

// A function that the library lacks is null.
struct NvmlParts::Functions {
  int (*supports_gpm)(void*, GpmSupport*) = nullptr;
  int (*allocate)(void**) = nullptr;
  int (*free)(void*) = nullptr;
  int (*sample)(void*, void*) = nullptr;
  int (*sample_part)(void*, unsigned, void*) = nullptr;
  int (*compare)(GpmComparison*) = nullptr;
  int (*pcie)(void*, unsigned, unsigned*) = nullptr;
  int (*fields)(void*, int, FieldValue*) = nullptr;

  bool has_gpm() const {
    return supports_gpm != nullptr && allocate != nullptr && free != nullptr && compare != nullptr;
  }
};

// What is known of a device since its last read.
struct NvmlParts::Before {
  Time time;
  bool is_read = false;
  bool has_gpm = false;
  std::unique_ptr<void, int (*)(void*)> sample{nullptr, nullptr};
  std::optional<uint64_t> sent_kib, received_kib;  // totals of NVLink
  Figures figures;
};

NvmlParts::NvmlParts(void* library) : functions_(std::make_unique<Functions>()) {
  const auto find = [library](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
  };
  Functions& f = *functions_;
  find(f.supports_gpm, "nvmlGpmQueryDeviceSupport");
  find(f.allocate, "nvmlGpmSampleAlloc");
  find(f.free, "nvmlGpmSampleFree");
  find(f.sample, "nvmlGpmSampleGet");
  find(f.sample_part, "nvmlGpmMigSampleGet");
  find(f.compare, "nvmlGpmMetricsGet");
  find(f.pcie, "nvmlDeviceGetPcieThroughput");
  find(f.fields, "nvmlDeviceGetFieldValues");
}

NvmlParts::~NvmlParts() = default;

void NvmlParts::begin(std::set<std::string> used, const std::set<std::string>& begun) {
  used_ = std::move(used);
  std::erase_if(before_,
                [&](const auto& one) { return !used_.contains(one.first) || begun.contains(one.first); });
}

void NvmlParts::read(const Device& device, Time now, model::Sample::Gpu& gpu) {
  if (!used_.contains(device.uuid)) return;
  Before& before = before_[device.uuid];
  if (!before.is_read && functions_->has_gpm()) {
    GpmSupport support{kVersion, 0};
    before.has_gpm = functions_->supports_gpm(device.gpu, &support) == kSuccess && support.is_supported != 0;
  }
  // Who asks again at once gets the same answer.
  if (!before.is_read || now - before.time >= kShortest) {
    const double seconds = before.is_read ? std::chrono::duration<double>(now - before.time).count() : 0;
    Figures figures;
    if (before.has_gpm) compare_samples(device, before, figures);
    if (!device.instance) {
      add_pcie(device, figures);
      add_nvlink(device, seconds, before, figures);
    }
    before.figures = std::move(figures);
    before.time = now;
    before.is_read = true;
  }
  for (const auto& [part, value] : before.figures) {
    model::GpuFigure& figure = *gpu.add_figures();
    figure.set_part(part);
    figure.set_value(value);
  }
}

// Null: none can be had.
void* NvmlParts::take_sample(const Device& device) const {
  void* sample = nullptr;
  if (functions_->allocate(&sample) != kSuccess) return nullptr;
  int code = ~kSuccess;
  if (device.instance) {
    if (functions_->sample_part != nullptr)
      code = functions_->sample_part(device.gpu, *device.instance, sample);
  } else if (functions_->sample != nullptr) {
    code = functions_->sample(device.gpu, sample);
  }
  if (code == kSuccess) return sample;
  functions_->free(sample);
  return nullptr;
}

// The library works out each metric from the rise of the counters between both samples.
void NvmlParts::compare_samples(const Device& device, Before& before, Figures& figures) {
  const auto earlier = std::exchange(before.sample, {take_sample(device), functions_->free});
  if (earlier == nullptr || before.sample == nullptr) return;
  const auto asked = std::make_unique<GpmComparison>();
  asked->version = kVersion;
  asked->before = earlier.get();
  asked->after = before.sample.get();
  for (const Metric& metric : kMetrics) asked->metrics[asked->count++].id = metric.id;
  if (functions_->compare(asked.get()) != kSuccess) return;
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    const GpmMetric& answer = asked->metrics[i];
    if (answer.code != kSuccess || !std::isfinite(answer.value) || answer.value < 0) continue;
    const double scale = kMetrics[i].scale, most = scale == kOfPercent ? kMostThousandths : kMostKib;
    figures[kMetrics[i].part] = static_cast<uint64_t>(std::llround(std::min(most, answer.value * scale)));
  }
}

// Where GPM tells nothing of it: the library counts for 20 ms, and tells KiB/s (nvmlDeviceGetPcieThroughput).
void NvmlParts::add_pcie(const Device& device, Figures& figures) const {
  if (functions_->pcie == nullptr) return;
  for (const auto& [counter, part] :
       {std::pair{kPcieReceived, model::GPU_PCIE_RECEIVED}, std::pair{kPcieSent, model::GPU_PCIE_SENT}}) {
    unsigned kib = 0;
    if (figures.contains(part) || functions_->pcie(device.gpu, counter, &kib) != kSuccess) continue;
    figures[part] = kib;
  }
}

// Where GPM tells nothing of it: the rise of the totals. A GPU without links has no rate.
void NvmlParts::add_nvlink(const Device& device, double seconds, Before& before, Figures& figures) const {
  if (functions_->fields == nullptr) return;
  FieldValue fields[3] = {};
  fields[0].field = kLinkCount;
  fields[1].field = kLinkReceived;
  fields[2].field = kLinkSent;
  fields[1].scope = fields[2].scope = kAllLinks;
  if (functions_->fields(device.gpu, static_cast<int>(std::size(fields)), fields) != kSuccess) return;
  if (value_of(fields[0]) == 0u) {
    figures.erase(model::GPU_NVLINK_RECEIVED);
    figures.erase(model::GPU_NVLINK_SENT);
    return;
  }
  const auto rate = [&](const FieldValue& field, std::optional<uint64_t>& total, GpuPart part) {
    const auto now = value_of(field);
    const auto earlier = std::exchange(total, now);
    if (figures.contains(part) || !now || !earlier || *now < *earlier || seconds <= 0) return;
    figures[part] = static_cast<uint64_t>(
        std::llround(std::min(kMostKib, static_cast<double>(*now - *earlier) / seconds)));
  };
  rate(fields[1], before.received_kib, model::GPU_NVLINK_RECEIVED);
  rate(fields[2], before.sent_kib, model::GPU_NVLINK_SENT);
}

}  // namespace minke::node
