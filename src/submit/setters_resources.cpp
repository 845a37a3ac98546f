// The setters of options that ask for resources: nodes, tasks' memory, GPUs, where to run.
#include <algorithm>

#include "submit/setters.h"
#include "text/hostlist.h"
#include "text/memory.h"
#include "text/tres.h"

namespace minke::submit::set {
namespace {

Status invalid_gres(const Assignment& to) {
  return rejected(to, "Invalid generic resource (gres) specification");
}

// A count of nodes, "2k" being 2048.
std::optional<uint32_t> node_count(std::string_view text) {
  text = text::trim(text);
  uint64_t factor = 1;
  if (!text.empty() && text::to_lower(text.back()) == 'k') factor = 1024;
  if (!text.empty() && text::to_lower(text.back()) == 'm') factor = 1024 * 1024;
  if (factor != 1) text.remove_suffix(1);
  auto value = text::parse_unsigned(text, kMaxNumber / factor);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value * factor);
}

Status host_names(const Assignment& to, std::string* field) {
  if (to.text().find('/') != std::string_view::npos) {
    std::string message =
        "a file of host names is not read here; name the hosts in --" + std::string(to.option.name);
    return failure(std::move(message), kFailureStatus);
  }
  if (!text::expand_hostlist(to.text())) return rejected(to, "Invalid node name specified");
  *field = to.text();
  return {};
}

template <typename List>
void assign(google::protobuf::RepeatedPtrField<model::Gres>* field, const List& list) {
  field->Assign(list.begin(), list.end());
}

Status gpu_list(const Assignment& to, google::protobuf::RepeatedPtrField<model::Gres>* field) {
  auto list = text::parse_gpu_list(to.text());
  if (!list) return invalid_gres(to);
  assign(field, *list);
  return {};
}

}  // namespace

Status distribution(const Assignment& to) {
  // [block|cyclic|fcyclic|arbitrary|plane=N|*][:...][,Pack|NoPack]
  std::string_view rest = to.text();
  if (size_t comma = rest.find(','); comma != std::string_view::npos) {
    std::string_view pack = rest.substr(comma + 1);
    if (!text::equals_ignoring_case(pack, "pack") && !text::equals_ignoring_case(pack, "nopack"))
      return invalid(to);
    rest = rest.substr(0, comma);
  }
  auto parts = text::split(rest, ':');
  if (parts.size() > 3) return invalid(to);
  for (std::string_view part : parts) {
    bool known = part == "*";
    for (std::string_view word : {"block", "cyclic", "fcyclic", "arbitrary", "pack", "nopack"}) {
      known = known || text::equals_ignoring_case(part, word);
    }
    if (text::starts_with_ignoring_case(part, "plane="))
      known = text::parse_unsigned(part.substr(6), kMaxNumber).has_value();
    if (!known) return invalid(to);
  }
  to.request.spec.set_distribution(std::string(to.text()));
  return {};
}

Status exclude(const Assignment& to) {
  return host_names(to, to.request.spec.mutable_exclude());
}
Status node_list(const Assignment& to) {
  return host_names(to, to.request.spec.mutable_node_list());
}

Status exclusive(const Assignment& to) {
  std::string_view value = to.text();
  bool known = value.empty();
  for (std::string_view word : {"user", "mcs", "topo", "exclusive"})
    known = known || text::equals_ignoring_case(value, word);
  if (!known) return invalid(to);
  // Whole nodes for the job. For a step within a job it means its CPUs alone; that is decided where --jobid
  // is known.
  to.request.spec.set_exclusive(true);
  return {};
}

Status gpus(const Assignment& to) {
  return gpu_list(to, to.request.spec.mutable_gpus());
}
Status gpus_per_socket(const Assignment& to) {
  return gpu_list(to, to.request.spec.mutable_gpus_per_socket());
}
Status gpus_per_task(const Assignment& to) {
  return gpu_list(to, to.request.spec.mutable_gpus_per_task());
}

// --gres and --gpus-per-node fill one field; the GPUs of the one take the place of the other's.
Status gpus_per_node(const Assignment& to) {
  auto list = text::parse_gpu_list(to.text());
  if (!list) return invalid_gres(to);
  std::vector<model::Gres> kept;
  for (const model::Gres& entry : to.request.spec.gres_per_node()) {
    if (entry.name() != "gpu") kept.push_back(entry);
  }
  kept.insert(kept.end(), list->begin(), list->end());
  assign(to.request.spec.mutable_gres_per_node(), kept);
  return {};
}

Status gres(const Assignment& to) {
  auto list = text::parse_gres_list(to.text());
  if (!list) return invalid_gres(to);
  assign(to.request.spec.mutable_gres_per_node(), *list);
  return {};
}

Status hint(const Assignment& to) {
  for (std::string_view word : {"compute_bound", "memory_bound", "multithread", "nomultithread"}) {
    if (to.text() != word) continue;
    to.request.spec.set_hint(std::string(word));
    return {};
  }
  return failure("unrecognized --hint argument \"" + std::string(to.text()) + "\", see --hint=help",
                 kFailureStatus);
}

Status mem(const Assignment& to) {
  auto mib = text::parse_mib(to.text());
  if (!mib) return invalid(to);
  to.request.spec.set_mem_per_node_mib(*mib);
  return {};
}
Status mem_per_cpu(const Assignment& to) {
  auto mib = text::parse_mib(to.text());
  if (!mib) return invalid(to);
  to.request.spec.set_mem_per_cpu_mib(*mib);
  return {};
}
Status mem_per_gpu(const Assignment& to) {
  auto mib = text::parse_mib(to.text());
  if (!mib) return invalid(to);
  to.request.spec.set_mem_per_gpu_mib(*mib);
  return {};
}

Status nodes(const Assignment& to) {
  std::string_view text = to.text();
  size_t dash = text.find('-');
  auto not_valid = [](std::string_view part) -> Status {
    std::string message = "\"";
    return failure(message.append(part).append("\" is not a valid node count"), kUsageStatus);
  };
  auto least = node_count(text.substr(0, dash));
  if (!least) return not_valid(dash == 0 ? text : text.substr(0, dash));
  auto most = least;
  if (dash != std::string_view::npos) {
    most = node_count(text.substr(dash + 1));
    if (!most) return not_valid(text.substr(dash + 1));
  }
  if (*most < *least) {
    return failure("Maximum node count " + std::to_string(*most) + " is less than minimum node count " +
                       std::to_string(*least),
                   kUsageStatus);
  }
  if (*most == 0) return not_valid(text);
  to.request.spec.set_min_nodes(std::max(*least, uint32_t{1}));
  to.request.spec.set_max_nodes(*most);
  return {};
}

Status relative(const Assignment& to) {
  auto value = whole_number(to, 0);
  if (!value) return failure(value.error());
  to.request.relative_node = *value;
  return {};
}

Status tmp(const Assignment& to) {
  auto mib = text::parse_mib(to.text());
  if (!mib) return invalid(to);
  to.request.spec.set_tmp_mib(*mib);
  return {};
}

Status tres_per_task(const Assignment& to) {
  // cpu=2,gres/gpu:a100=1; a colon may stand before the count.
  std::string rest;
  std::optional<uint64_t> cpus;
  for (std::string_view word : text::split(to.text(), ',')) {
    if (text::starts_with_ignoring_case(word, "cpu=") || text::starts_with_ignoring_case(word, "cpu:")) {
      cpus = text::parse_unsigned(word.substr(4), kMaxNumber);
      if (!cpus || *cpus == 0) return invalid(to);
    } else if (text::starts_with_ignoring_case(word, "gres/gpu") ||
               text::starts_with_ignoring_case(word, "gres:gpu")) {
      if (!rest.empty()) rest += ',';
      rest += word;
    } else {
      return failure(
          "--tres-per-task: only cpu and gres/gpu can be asked for by task here, not " + std::string(word),
          kFailureStatus);
    }
  }
  auto list = text::parse_gres_list(rest);
  if (!list) return invalid(to);
  if (cpus) to.request.spec.set_cpus_per_task(static_cast<uint32_t>(*cpus));
  assign(to.request.spec.mutable_gpus_per_task(), *list);
  return {};
}

Status wait_all_nodes(const Assignment& to) {
  auto value = text::parse_unsigned(to.text(), 1);
  if (!value) return invalid(to);
  to.request.wait_all_nodes = *value == 1;
  return {};
}

}  // namespace minke::submit::set
