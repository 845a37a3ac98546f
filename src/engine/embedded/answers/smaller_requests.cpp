#include "engine/embedded/answers/smaller_requests.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "text/duration.h"
#include "text/memory.h"

namespace minke::engine {

namespace {

// Common limits in minutes.
constexpr uint32_t kUsualLimits[] = {10080, 4320, 2880, 1440, 720, 480, 360, 240, 180,
                                     120,   60,   45,   30,   20,  15,  10,  5,   1};

std::string memory(uint64_t mib) {
  return mib % 1024 == 0 ? std::to_string(mib / 1024) + "G" : std::to_string(mib) + "M";
}

class Choices {
 public:
  Choices(const model::JobSpec& spec, uint32_t limit, const std::vector<std::string>& partitions)
      : spec_(spec), limit_(limit), partitions_(partitions) {}

  void add(std::string options, std::string instead_of, const std::function<void(model::JobSpec&)>& change) {
    SmallerRequestChoice choice{kind_, std::move(options), std::move(instead_of), spec_, partitions_, limit_};
    change(choice.spec);
    found_.push_back(std::move(choice));
  }

  void shorter() {
    ++kind_;
    for (const uint32_t minutes : kUsualLimits) {
      if (minutes >= limit_) continue;
      add("--time=" + text::format_minutes(minutes), "--time=" + text::format_minutes(limit_),
          [&](model::JobSpec& spec) { spec.set_time_limit_minutes(minutes); });
      found_.back().time_limit_minutes = minutes;
    }
  }

  // Halves repeatedly; `words` makes the option's text.
  template <typename Number>
  void halve(Number from, const std::function<std::string(Number)>& words,
             const std::function<void(model::JobSpec&, Number)>& set) {
    ++kind_;
    for (Number to = from / 2, times = 0; to >= 1 && times < 3; to /= 2, ++times)
      add(words(to), words(from), [&](model::JobSpec& spec) { set(spec, to); });
  }

  void fewer(const std::string& option, bool given, uint32_t from, void (model::JobSpec::*set)(uint32_t)) {
    if (!given) return;
    halve<uint32_t>(
        from, [&](uint32_t count) { return option + std::to_string(count); },
        [&](model::JobSpec& spec, uint32_t count) { (spec.*set)(count); });
  }

  void less_memory(const std::string& option, bool given, uint64_t from,
                   void (model::JobSpec::*set)(uint64_t)) {
    if (!given) return;
    halve<uint64_t>(
        from, [&](uint64_t mib) { return option + memory(mib); },
        [&](model::JobSpec& spec, uint64_t mib) { (spec.*set)(mib); });
  }

  using GresList = google::protobuf::RepeatedPtrField<model::Gres>;
  void fewer_gres(const std::string& option, bool with_name, const GresList& list,
                  GresList* (model::JobSpec::*mutable_list)()) {
    for (int i = 0; i < list.size(); ++i) {
      const auto words = [&](const std::string& type, uint32_t count) {
        const bool by_task = !with_name && list[i].name() != "gpu";  // of all options only one has its name
        std::string text = by_task ? "--tres-per-task=gres/" : option;
        if (with_name || by_task) text += list[i].name() + ":";
        if (!type.empty()) text += type + ":";
        return text + std::to_string(count);
      };
      if (!list[i].type().empty()) {
        ++kind_;
        add(words("", list[i].count()), words(list[i].type(), list[i].count()),
            [&](model::JobSpec& spec) { (spec.*mutable_list)()->Mutable(i)->clear_type(); });
      }
      halve<uint32_t>(
          list[i].count(), [&](uint32_t count) { return words(list[i].type(), count); },
          [&](model::JobSpec& spec, uint32_t count) {
            (spec.*mutable_list)()->Mutable(i)->set_count(count);
          });
    }
  }

  void without(const std::string& option, bool given, const std::function<void(model::JobSpec&)>& drop) {
    if (!given) return;
    ++kind_;
    add("no " + option.substr(0, option.find('=')), option, drop);
  }

  void elsewhere(const std::vector<std::string>& others) {
    std::string here;
    for (const std::string& name : partitions_) here += (here.empty() ? "" : ",") + name;
    for (const std::string& other : others) {
      ++kind_;
      add("--partition=" + other, "--partition=" + here, [](model::JobSpec&) {});
      found_.back().partitions = {other};
    }
  }

  std::vector<SmallerRequestChoice> take() { return std::move(found_); }

 private:
  const model::JobSpec& spec_;
  const uint32_t limit_;
  const std::vector<std::string>& partitions_;
  int kind_ = 0;
  std::vector<SmallerRequestChoice> found_;
};

}  // namespace

std::vector<SmallerRequestChoice> smaller_requests(const model::JobSpec& spec, uint32_t time_limit_minutes,
                                                   const std::vector<std::string>& partitions,
                                                   const std::vector<std::string>& others) {
  using model::JobSpec;
  Choices choices(spec, time_limit_minutes, partitions);
  choices.shorter();
  if (spec.min_nodes() > 1) {
    // With as many tasks on each node as before.
    const uint32_t nodes = spec.min_nodes();
    choices.halve<uint32_t>(
        nodes,
        [&](uint32_t count) {
          std::string words = "--nodes=" + std::to_string(count);
          if (spec.has_ntasks()) {
            const uint32_t tasks =
                count == nodes ? spec.ntasks() : std::max(1u, spec.ntasks() / nodes * count);
            words += " --ntasks=" + std::to_string(tasks);
          }
          return words;
        },
        [&](JobSpec& changed, uint32_t count) {
          changed.clear_node_counts();
          changed.set_min_nodes(count);
          if (changed.has_max_nodes())
            changed.set_max_nodes(std::max(count, changed.max_nodes() / (nodes / count)));
          if (changed.has_ntasks()) changed.set_ntasks(std::max(1u, spec.ntasks() / nodes * count));
        });
  } else {
    choices.fewer("--ntasks=", spec.has_ntasks(), spec.ntasks(), &JobSpec::set_ntasks);
  }
  choices.fewer("--ntasks-per-node=", spec.has_ntasks_per_node() && !spec.has_ntasks(),
                spec.ntasks_per_node(), &JobSpec::set_ntasks_per_node);
  choices.fewer("--cpus-per-task=", spec.has_cpus_per_task(), spec.cpus_per_task(),
                &JobSpec::set_cpus_per_task);
  choices.less_memory("--mem=", spec.has_mem_per_node_mib(), spec.mem_per_node_mib(),
                      &JobSpec::set_mem_per_node_mib);
  choices.less_memory("--mem-per-cpu=", spec.has_mem_per_cpu_mib(), spec.mem_per_cpu_mib(),
                      &JobSpec::set_mem_per_cpu_mib);
  choices.less_memory("--mem-per-gpu=", spec.has_mem_per_gpu_mib(), spec.mem_per_gpu_mib(),
                      &JobSpec::set_mem_per_gpu_mib);
  choices.fewer_gres("--gres=", true, spec.gres_per_node(), &JobSpec::mutable_gres_per_node);
  choices.fewer_gres("--gpus=", false, spec.gpus(), &JobSpec::mutable_gpus);
  choices.fewer_gres("--gpus-per-task=", false, spec.gpus_per_task(), &JobSpec::mutable_gpus_per_task);
  choices.without("--constraint=" + spec.constraint(), !spec.constraint().empty(),
                  [](JobSpec& changed) { changed.clear_constraint(); });
  choices.without("--nodelist=" + spec.node_list(), !spec.node_list().empty(),
                  [](JobSpec& changed) { changed.clear_node_list(); });
  choices.without("--exclude=" + spec.exclude(), !spec.exclude().empty(),
                  [](JobSpec& changed) { changed.clear_exclude(); });
  choices.without("--exclusive", spec.exclusive(), [](JobSpec& changed) { changed.clear_exclusive(); });
  choices.without("--contiguous", spec.contiguous(), [](JobSpec& changed) { changed.clear_contiguous(); });
  choices.elsewhere(others);
  return choices.take();
}

}  // namespace minke::engine
