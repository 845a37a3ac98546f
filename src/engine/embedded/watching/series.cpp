#include "engine/embedded/watching/series.h"

#include <algorithm>
#include <utility>

#include "model/measurement.pb.h"
#include "model/usage.pb.h"

namespace minke::engine {

using model::Sample;

namespace {

// The later sample, with averaged levels and the larger memory.
Sample merged(const Sample& earlier, Sample later) {
  // Rounds halves up and down in turn, so that neither is preferred.
  const auto mean = [](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>((uint64_t{a} + b + (a & 1)) / 2);
  };
  later.set_memory_kib(std::max(earlier.memory_kib(), later.memory_kib()));
  later.set_cache_kib(std::max(earlier.cache_kib(), later.cache_kib()));
  later.set_shared_kib(std::max(earlier.shared_kib(), later.shared_kib()));
  later.set_processes(std::max(earlier.processes(), later.processes()));
  later.set_threads(mean(earlier.threads(), later.threads()));
  later.set_running_threads(mean(earlier.running_threads(), later.running_threads()));
  for (int i = 0; i < std::min(earlier.gpus_size(), later.gpus_size()); ++i) {
    const Sample::Gpu& a = earlier.gpus(i);
    Sample::Gpu& b = *later.mutable_gpus(i);
    b.set_utilization(mean(a.utilization(), b.utilization()));
    b.set_memory_utilization(mean(a.memory_utilization(), b.memory_utilization()));
    b.set_milliwatts(mean(a.milliwatts(), b.milliwatts()));
    b.set_clock_mhz(mean(a.clock_mhz(), b.clock_mhz()));
    b.set_memory_mib(std::max(a.memory_mib(), b.memory_mib()));
    GpuFigures figures;
    figures.add(a);
    figures.add(b);
    figures.put_means(b);
  }
  return later;
}

// One column of the stored form, which has differences.
template <typename Column, typename Value>
void put(Column* column, const std::vector<Sample>& samples, Value value) {
  int64_t before = 0;
  for (const Sample& sample : samples) {
    const auto now = static_cast<int64_t>(value(sample));
    column->Add(now - std::exchange(before, now));
  }
}

// The time of a processor that a sample does not know yet is that of the first one that does: nothing was
// counted.
uint64_t processor_milliseconds(const std::vector<Sample>& samples, const Sample& sample, int at) {
  if (at < sample.processor_milliseconds_size()) return sample.processor_milliseconds(at);
  for (const Sample& one : samples)
    if (at < one.processor_milliseconds_size()) return one.processor_milliseconds(at);
  return 0;
}

template <typename Column, typename Set>
void take(const Column& column, std::vector<Sample>& samples, Set set) {
  int64_t value = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (static_cast<int>(i) < column.size()) value += column.Get(static_cast<int>(i));
    set(samples[i], std::max<int64_t>(0, value));
  }
}

}  // namespace

void Series::add(Sample sample, double seconds) {
  peak_memory_kib_ = std::max(peak_memory_kib_, sample.memory_kib());
  if (!samples_.empty()) {
    const Sample& known = samples_.back();
    sample.set_cpu_milliseconds(std::max(sample.cpu_milliseconds(), known.cpu_milliseconds()));
    sample.set_read_kib(std::max(sample.read_kib(), known.read_kib()));
    sample.set_write_kib(std::max(sample.write_kib(), known.write_kib()));
    sample.set_energy_joules(std::max(sample.energy_joules(), known.energy_joules()));
    sample.set_received_kib(std::max(sample.received_kib(), known.received_kib()));
    sample.set_sent_kib(std::max(sample.sent_kib(), known.sent_kib()));
  }
  seconds_between_ = last_seconds_ == 0 ? 0 : seconds - last_seconds_;
  last_seconds_ = seconds;
  before_ = std::exchange(last_, sample);
  if (pending_ == merged_) pending_ = 0;
  if (pending_ == 0) {
    sums_.assign(static_cast<size_t>(sample.gpus_size()), {});
    threads_ = running_threads_ = 0;
  }
  threads_ += sample.threads();
  running_threads_ += sample.running_threads();
  for (size_t i = 0; i < std::min(sums_.size(), static_cast<size_t>(sample.gpus_size())); ++i) {
    const Sample::Gpu& gpu = sample.gpus(static_cast<int>(i));
    sums_[i].utilization += gpu.utilization();
    sums_[i].memory_utilization += gpu.memory_utilization();
    sums_[i].milliwatts += gpu.milliwatts();
    sums_[i].clock_mhz += gpu.clock_mhz();
    sums_[i].figures.add(gpu);
  }
  if (pending_ != 0) {
    ++pending_;
    Sample& last = samples_.back();
    last = merged(last, std::move(sample));
    const auto mean = [this](uint64_t sum) { return static_cast<uint32_t>((sum + pending_ / 2) / pending_); };
    last.set_threads(mean(threads_));
    last.set_running_threads(mean(running_threads_));
    for (size_t i = 0; i < std::min(sums_.size(), static_cast<size_t>(last.gpus_size())); ++i) {
      Sample::Gpu& gpu = *last.mutable_gpus(static_cast<int>(i));
      gpu.set_utilization(mean(sums_[i].utilization));
      gpu.set_memory_utilization(mean(sums_[i].memory_utilization));
      gpu.set_milliwatts(mean(sums_[i].milliwatts));
      gpu.set_clock_mhz(mean(sums_[i].clock_mhz));
      sums_[i].figures.put_means(gpu);
    }
    return;
  }
  if (samples_.size() == kMostSamples) thin();
  samples_.push_back(std::move(sample));
  pending_ = 1;
}

void Series::know_processors(const std::set<uint32_t>& ids) {
  for (const uint32_t id : ids) {
    if (processors_.size() == kMostProcessors) return;
    if (std::find(processors_.begin(), processors_.end(), id) == processors_.end()) processors_.push_back(id);
  }
}

void Series::thin() {
  for (size_t i = 0; i + 1 < samples_.size(); i += 2) samples_[i / 2] = merged(samples_[i], samples_[i + 1]);
  samples_.resize(samples_.size() / 2);
  merged_ *= 2;
}

model::Series Series::stored() const {
  model::Series stored;
  put(stored.mutable_time(), samples_, [](const Sample& s) { return s.time(); });
  put(stored.mutable_cpu_milliseconds(), samples_, [](const Sample& s) { return s.cpu_milliseconds(); });
  put(stored.mutable_memory_kib(), samples_, [](const Sample& s) { return s.memory_kib(); });
  put(stored.mutable_read_kib(), samples_, [](const Sample& s) { return s.read_kib(); });
  put(stored.mutable_write_kib(), samples_, [](const Sample& s) { return s.write_kib(); });
  put(stored.mutable_processes(), samples_, [](const Sample& s) { return s.processes(); });
  put(stored.mutable_energy_joules(), samples_, [](const Sample& s) { return s.energy_joules(); });
  put(stored.mutable_threads(), samples_, [](const Sample& s) { return s.threads(); });
  put(stored.mutable_running_threads(), samples_, [](const Sample& s) { return s.running_threads(); });
  put(stored.mutable_cache_kib(), samples_, [](const Sample& s) { return s.cache_kib(); });
  put(stored.mutable_shared_kib(), samples_, [](const Sample& s) { return s.shared_kib(); });
  put(stored.mutable_received_kib(), samples_, [](const Sample& s) { return s.received_kib(); });
  put(stored.mutable_sent_kib(), samples_, [](const Sample& s) { return s.sent_kib(); });
  for (size_t at = 0; at < processors_.size(); ++at) {
    model::Series::Processor& column = *stored.add_processors();
    column.set_id(processors_[at]);
    put(column.mutable_milliseconds(), samples_,
        [&](const Sample& s) { return processor_milliseconds(samples_, s, static_cast<int>(at)); });
  }
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    model::Series::Gpu& column = *stored.add_gpus();
    column.set_uuid(gpus_[gpu]);
    const auto of = [gpu](const Sample& s) -> const Sample::Gpu& {
      return static_cast<int>(gpu) < s.gpus_size() ? s.gpus(static_cast<int>(gpu))
                                                   : Sample::Gpu::default_instance();
    };
    put(column.mutable_utilization(), samples_, [&](const Sample& s) { return of(s).utilization(); });
    put(column.mutable_memory_utilization(), samples_,
        [&](const Sample& s) { return of(s).memory_utilization(); });
    put(column.mutable_memory_mib(), samples_, [&](const Sample& s) { return of(s).memory_mib(); });
    put(column.mutable_milliwatts(), samples_, [&](const Sample& s) { return of(s).milliwatts(); });
    put(column.mutable_clock_mhz(), samples_, [&](const Sample& s) { return of(s).clock_mhz(); });
    for (int number = 1; number < model::GpuPart_ARRAYSIZE; ++number) {
      const auto part = static_cast<model::GpuPart>(number);
      const auto stored_value = [&](const Sample& s) {
        const auto value = figure_of(of(s), part);
        return value ? *value + 1 : 0;
      };
      if (std::none_of(samples_.begin(), samples_.end(), stored_value)) continue;
      model::Series::Gpu::Part& values = *column.add_parts();
      values.set_part(part);
      put(values.mutable_values(), samples_, stored_value);
    }
  }
  stored.set_merged(merged_);
  stored.set_peak_memory_kib(peak_memory_kib_);
  return stored;
}

Series Series::of(const model::Series& stored) {
  Series series;
  std::vector<Sample>& samples = series.samples_;
  samples.resize(std::min<size_t>(static_cast<size_t>(stored.time_size()), kMostSamples));
  take(stored.time(), samples, [](Sample& s, int64_t v) { s.set_time(v); });
  take(stored.cpu_milliseconds(), samples,
       [](Sample& s, int64_t v) { s.set_cpu_milliseconds(static_cast<uint64_t>(v)); });
  take(stored.memory_kib(), samples,
       [](Sample& s, int64_t v) { s.set_memory_kib(static_cast<uint64_t>(v)); });
  take(stored.read_kib(), samples, [](Sample& s, int64_t v) { s.set_read_kib(static_cast<uint64_t>(v)); });
  take(stored.write_kib(), samples, [](Sample& s, int64_t v) { s.set_write_kib(static_cast<uint64_t>(v)); });
  take(stored.processes(), samples, [](Sample& s, int64_t v) { s.set_processes(static_cast<uint32_t>(v)); });
  take(stored.energy_joules(), samples,
       [](Sample& s, int64_t v) { s.set_energy_joules(static_cast<uint64_t>(v)); });
  take(stored.threads(), samples, [](Sample& s, int64_t v) { s.set_threads(static_cast<uint32_t>(v)); });
  take(stored.running_threads(), samples,
       [](Sample& s, int64_t v) { s.set_running_threads(static_cast<uint32_t>(v)); });
  take(stored.cache_kib(), samples, [](Sample& s, int64_t v) { s.set_cache_kib(static_cast<uint64_t>(v)); });
  take(stored.shared_kib(), samples,
       [](Sample& s, int64_t v) { s.set_shared_kib(static_cast<uint64_t>(v)); });
  take(stored.received_kib(), samples,
       [](Sample& s, int64_t v) { s.set_received_kib(static_cast<uint64_t>(v)); });
  take(stored.sent_kib(), samples, [](Sample& s, int64_t v) { s.set_sent_kib(static_cast<uint64_t>(v)); });
  for (const model::Series::Processor& column : stored.processors()) {
    if (series.processors_.size() == kMostProcessors) break;
    series.processors_.push_back(column.id());
    take(column.milliseconds(), samples,
         [](Sample& s, int64_t v) { s.add_processor_milliseconds(static_cast<uint64_t>(v)); });
  }
  for (const model::Series::Gpu& column : stored.gpus()) {
    series.gpus_.push_back(column.uuid());
    const int gpu = static_cast<int>(series.gpus_.size()) - 1;
    for (Sample& sample : samples) sample.add_gpus();
    take(column.utilization(), samples,
         [gpu](Sample& s, int64_t v) { s.mutable_gpus(gpu)->set_utilization(static_cast<uint32_t>(v)); });
    take(column.memory_utilization(), samples, [gpu](Sample& s, int64_t v) {
      s.mutable_gpus(gpu)->set_memory_utilization(static_cast<uint32_t>(v));
    });
    take(column.memory_mib(), samples,
         [gpu](Sample& s, int64_t v) { s.mutable_gpus(gpu)->set_memory_mib(static_cast<uint64_t>(v)); });
    take(column.milliwatts(), samples,
         [gpu](Sample& s, int64_t v) { s.mutable_gpus(gpu)->set_milliwatts(static_cast<uint32_t>(v)); });
    take(column.clock_mhz(), samples,
         [gpu](Sample& s, int64_t v) { s.mutable_gpus(gpu)->set_clock_mhz(static_cast<uint32_t>(v)); });
    for (const model::Series::Gpu::Part& part : column.parts())
      take(part.values(), samples, [&](Sample& s, int64_t v) {
        if (v <= 0) return;
        model::GpuFigure& figure = *s.mutable_gpus(gpu)->add_figures();
        figure.set_part(part.part());
        figure.set_value(static_cast<uint64_t>(v) - 1);
      });
  }
  if (!samples.empty()) series.last_ = samples.back();
  series.merged_ = std::max(1u, stored.merged());
  series.peak_memory_kib_ = stored.peak_memory_kib();
  return series;
}

template <typename Total>
double Series::rate(Total total) const {
  return seconds_between_ <= 0 ? 0 : static_cast<double>(total(last_) - total(before_)) / seconds_between_;
}

double Series::cores() const {
  return rate([](const Sample& s) { return s.cpu_milliseconds(); }) / 1000;
}
uint64_t Series::read_rate() const {
  return static_cast<uint64_t>(rate([](const Sample& s) { return s.read_kib(); }) * 1024);
}
uint64_t Series::write_rate() const {
  return static_cast<uint64_t>(rate([](const Sample& s) { return s.write_kib(); }) * 1024);
}

void Series::summarize(int64_t from, int64_t until, const std::vector<std::string>& gpus,
                       model::Usage& usage) const {
  uint64_t samples = 0, utilization = 0, memory = 0, milliwatts = 0, most_utilization = 0, most_memory = 0,
           peak = 0;
  uint64_t energy_before = 0, energy = 0;
  for (const Sample& sample : samples_) {
    if (sample.time() <= from) energy_before = sample.energy_joules();
    if (sample.time() <= from || sample.time() > until) continue;
    ++samples;
    energy = sample.energy_joules() - energy_before;
    peak = std::max(peak, sample.memory_kib());
    uint64_t busy = 0, used = 0;
    for (size_t i = 0; i < gpus_.size() && static_cast<int>(i) < sample.gpus_size(); ++i) {
      if (std::find(gpus.begin(), gpus.end(), gpus_[i]) == gpus.end()) continue;
      const Sample::Gpu& gpu = sample.gpus(static_cast<int>(i));
      busy += gpu.utilization();
      used += gpu.memory_mib();
      milliwatts += gpu.milliwatts();
    }
    utilization += busy;
    memory += used;
    most_utilization = std::max(most_utilization, busy);
    most_memory = std::max(most_memory, used);
  }
  if (samples == 0) return;
  usage.set_peak_memory_kib(peak);
  usage.set_energy_joules(energy);
  if (gpus.empty()) return;
  const auto mean = [samples](uint64_t sum) {
    return static_cast<double>(sum) / static_cast<double>(samples);
  };
  model::Usage::Gpus& summary = *usage.mutable_gpus();
  summary.set_count(static_cast<uint32_t>(gpus.size()));
  summary.set_utilization(mean(utilization));
  summary.set_most_utilization(static_cast<double>(most_utilization));
  summary.set_memory_bytes(static_cast<uint64_t>(mean(memory) * (1 << 20)));
  summary.set_most_memory_bytes(most_memory << 20);
  summary.set_watts(mean(milliwatts) / 1000);
}

}  // namespace minke::engine
