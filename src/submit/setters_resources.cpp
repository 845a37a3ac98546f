// The setters of options that ask for resources: nodes, tasks' memory, GPUs, where to run.
#include <algorithm>
#include <optional>
#include <vector>

#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "submit/setters.h"
#include "text/array_spec.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/memory.h"
#include "text/number.h"
#include "text/tres.h"

namespace minke::submit::set {
namespace {

Status invalid_gres(const Error& error) {
  return failure(error.message, kFailureStatus);
}

// Reads a count of nodes; "2k" is 2048.
std::optional<uint32_t> node_count(std::string_view text) {
  text = text::skip_blanks_and_plus(text::trim(text));
  uint64_t factor = 1;
  if (!text.empty() && text::to_lower(text.back()) == 'k') factor = 1024;
  if (!text.empty() && text::to_lower(text.back()) == 'm') factor = 1024 * 1024;
  if (factor != 1) text.remove_suffix(1);
  auto value = text::parse_unsigned(text, kMaxNumber / factor);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value * factor);
}

// One place of a set of counts: "3", "2-4"; without a number it is 0. Of one that goes backwards nothing is
// left, as in Slurm. Adds to `counts`; returns what is no count.
std::optional<std::string_view> add_counts(std::string_view part, std::optional<uint64_t> step,
                                           std::vector<uint32_t>& counts) {
  constexpr uint64_t kMostNodes = 1 << 16;
  const auto count = [&](std::string_view one) {
    return one.empty() ? std::optional<uint64_t>(0)
                       : text::parse_unsigned(text::skip_blanks_and_plus(one), kMostNodes);
  };
  const size_t dash = part.find('-');
  const auto first = count(part.substr(0, dash));
  if (!first) return part.substr(0, dash);
  const auto last = dash == std::string_view::npos ? first : count(part.substr(dash + 1));
  if (!last) return part.substr(dash + 1);
  // The end of a range in steps is not one of them.
  for (uint64_t one = *first; step ? one < *last : one <= *last; one += step.value_or(1))
    counts.push_back(static_cast<uint32_t>(one));
  return std::nullopt;
}

// A set of counts, ascending: "1,3-5", or "2-8:2".
Result<std::vector<uint32_t>> node_counts(std::string_view text) {
  const auto not_valid = [](std::string_view part) {
    return failure("\"" + std::string(part) + "\" is not a valid node count", kUsageStatus);
  };
  const size_t colon = text.find(':');
  std::optional<uint64_t> step;
  if (colon != std::string_view::npos) {
    const std::string_view last = text.substr(colon + 1);
    const bool of_range = text.find(',') == std::string_view::npos && !text.substr(0, colon).ends_with('-') &&
                          text.find('-') != std::string_view::npos;
    step = text::parse_unsigned(last, kMaxNumber);
    if (last.starts_with('-') && text.find(',') == std::string_view::npos) return not_valid(text);
    if (!step && !last.empty() && text.find(',') == std::string_view::npos) return not_valid(last);
    if (!of_range || step.value_or(0) == 0) return not_valid(text);
  }
  std::vector<uint32_t> counts;
  constexpr size_t kMostListed = 1 << 20;  // again and again the same ones
  for (const std::string_view part : text::split(text.substr(0, colon), ',')) {
    if (const auto wrong = add_counts(part, step, counts)) return not_valid(*wrong);
    if (counts.size() > kMostListed) return not_valid(part);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.empty()) return failure("invalid number of nodes (-N -1--1)", kFailureStatus);
  return counts;
}

constexpr const char* kNoNodes = "Node count specification invalid (write 2, or 2-4)";

// Whether a count asks for no nodes: a script needs one, and takes it where it may have more; an allocation
// is given none.
bool no_nodes(const Assignment& to, uint32_t least, uint32_t most) {
  if (to.invocation.command == Command::kSbatch || to.request.job_id) return least == 0 && most == 0;
  return least == 0;
}

// Reads the hosts of a file: a hostlist on each line, "name*4" for four times the host; "#" begins a comment.
Result<std::string> hosts_of_file(const Assignment& to) {
  auto content = read_file(to);
  if (!content) {
    std::string message = "slurm_allocate_resources error opening file " + std::string(to.text());
    return failure(message.append(", ").append(content.error().message), kFailureStatus);
  }
  std::string out;
  for (std::string_view line : text::split(*content, '\n')) {
    line = text::trim(line.substr(0, line.find('#')));
    line = line.substr(0, line.find('*'));
    if (line.empty()) continue;
    if (!out.empty()) out += ',';
    out += line;
  }
  return out;
}

Status host_names(const Assignment& to, std::string* field) {
  std::string names(to.text());
  if (names.find('/') != std::string::npos) {
    auto read = hosts_of_file(to);
    if (!read) return failure(read.error());
    names = std::move(*read);
  }
  if (!text::expand_hostlist(names)) {
    if (to.invocation.release >= kSlurm24)
      return failure("fatal: Invalid node list specified", kFailureStatus);
    return rejected(to, "Invalid node name specified");
  }
  *field = std::move(names);
  return {};
}

template <typename List>
void assign(google::protobuf::RepeatedPtrField<model::Gres>* field, const List& list) {
  field->Assign(list.begin(), list.end());
}

// Returns a request as listings show it: "gres:gpu:a100:2". Nothing if the amounts say the same.
std::string as_given(std::string_view request, std::string_view each,
                     const std::vector<model::Gres>& amounts) {
  std::string out;
  if (text::trim(request).empty() || text::equals_ignoring_case(text::trim(request), "none")) return out;
  for (std::string_view item : text::split(request, ',')) {
    if (item.empty() && !each.empty()) continue;  // only --gres shows an empty place
    if (text::starts_with_ignoring_case(item, "gres:") || text::starts_with_ignoring_case(item, "gres/"))
      item.remove_prefix(5);
    out.append(out.empty() ? "gres:" : ",gres:").append(each).append(item);
  }
  return out == text::format_tres_per(amounts) ? std::string() : out;
}

constexpr const char* kNoCount = "Invalid Trackable RESource (TRES) specification";

// What stands behind the name of a resource is a type, a count, or both: "a100:x" has no count.
bool lacks_count(std::string_view fields) {
  const size_t separator = fields.find_last_of(":=");
  if (separator == std::string_view::npos) return false;
  std::string_view count = fields.substr(separator + 1);
  if (!count.empty() && std::string_view("kKmM").find(count.back()) != std::string_view::npos)
    count.remove_suffix(1);
  return !text::is_digits(count) || fields.substr(0, separator).find('=') != std::string_view::npos;
}

// Without the blanks and the plus before a count, which 22.05 reads as strtol does: "a100: 2", "+2".
std::string without_plus(std::string_view item) {
  const size_t colon = item.rfind(':');
  const size_t at = colon == std::string_view::npos ? 0 : colon + 1;
  return std::string(item.substr(0, at)).append(text::skip_blanks_and_plus(item.substr(at)));
}

std::string without_pluses(std::string_view items) {
  std::string out;
  for (const std::string_view item : text::split(items, ','))
    out.append(out.empty() ? "" : ",").append(without_plus(item));
  return out;
}

// Of --gpus and its like.
Result<std::vector<model::Gres>> parse_gpus(const Assignment& to, std::string_view amounts) {
  const bool old = to.invocation.release < kSlurm24;
  std::string list;
  for (const std::string_view item : text::split(amounts, ',')) {
    if (item.empty()) continue;  // "1,"
    if (old) {
      list.append(list.empty() ? "" : ",").append(without_plus(item));
      continue;
    }
    if (lacks_count(item)) return failure(kNoCount);
    list.append(list.empty() ? "" : ",").append(item);
  }
  if (list.empty()) return std::vector<model::Gres>();  // ","
  return text::parse_gpu_list(list, old ? text::GresTypes::kNames : text::GresTypes::kAny);
}

// Returns what listings show of the request so far.
std::string tres_per_node_of(const model::JobSpec& spec) {
  if (!spec.tres_per_node().empty()) return spec.tres_per_node();
  return text::format_tres_per(
      std::vector<model::Gres>(spec.gres_per_node().begin(), spec.gres_per_node().end()));
}

Status gpu_list(const Assignment& to, std::string_view amounts,
                google::protobuf::RepeatedPtrField<model::Gres>* field, std::string* given) {
  // None are asked for by no text; a short option keeps an equals sign, which is no part of the amount.
  const std::string_view as_written = amounts;
  if (amounts.starts_with('=')) amounts.remove_prefix(1);
  auto list = amounts.empty() ? Result<std::vector<model::Gres>>() : parse_gpus(to, amounts);
  if (!list) return invalid_gres(list.error());
  assign(field, *list);
  *given = as_given(as_written, "gpu:", *list);
  return {};
}

}  // namespace

// Since 23.11 "=" may also stand behind a name, before a count alone, and nothing in front of it.
Result<std::vector<model::Gres>> current_gres_list(std::string_view given) {
  std::string list;
  for (std::string_view item : text::split(given, ',')) {
    if (item.empty()) continue;  // "gpu:1,"
    if (text::starts_with_ignoring_case(item, "gres:"))
      return failure("Invalid generic resource (gres) specification");
    list.append(list.empty() ? "" : ",").append(item);
    const bool is_tres = text::starts_with_ignoring_case(item, "gres/");
    const size_t begin = list.size() - item.size() + (is_tres ? 5 : 0);
    const size_t end = list.find_first_of(":=", begin);
    if (end == std::string::npos) continue;
    const std::string_view fields = std::string_view(list).substr(end + 1);
    const bool before_count = list[end] == '=';
    if (before_count && fields.find('=') != std::string_view::npos)
      return failure("Invalid generic resource (gres) specification");
    if (fields.empty() || lacks_count(fields) || (before_count && lacks_count(list.substr(end))))
      return failure(kNoCount);
    list[end] = ':';
  }
  return text::parse_gres_list(list, text::GresTypes::kAny);
}

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
  std::string kept, before;
  // Tasks are dealt to nodes one by one or in blocks.
  if (text::equals_ignoring_case(parts.front(), "fcyclic")) return invalid(to);
  for (std::string_view part : parts) {
    if (part.empty() && parts.size() > 1) part = "*";  // "block:"
    bool known = part == "*";
    for (std::string_view word : {"block", "cyclic", "fcyclic", "arbitrary", "pack", "nopack"}) {
      known = known || text::equals_ignoring_case(part, word);
    }
    if (text::starts_with_ignoring_case(part, "plane")) {
      const auto size = part.size() > 6 ? text::parse_unsigned(part.substr(6), kMaxNumber) : std::nullopt;
      const bool alone = to.invocation.release < kSlurm26 || part.size() == to.text().size();
      if (!size || *size == 0 || !alone)
        return failure("Invalid plane size or size not specified\nInvalid --distribution specification",
                       kUsageStatus);
      known = part[5] == '=';
    }
    if (!known) return invalid(to);
    // "*" is the default of its place: block for nodes, cyclic for sockets, for cores as for sockets.
    std::string word = text::lower_case(part);
    if (word == "*") word = kept.empty() ? "block" : before == "" ? "cyclic" : before;
    if (!kept.empty()) before = word;
    kept.append(kept.empty() ? "" : ":").append(word);
  }
  to.request.spec.set_distribution(kept + text::lower_case(to.text().substr(rest.size())));
  return {};
}

Status exclude(const Assignment& to) {
  return host_names(to, to.request.spec.mutable_exclude());
}
Status node_list(const Assignment& to) {
  return host_names(to, to.request.spec.mutable_node_list());
}

Status node_file(const Assignment& to) {
  auto names = hosts_of_file(to);
  if (!names) return failure(names.error().message + "\nInvalid --nodefile node file", kUsageStatus);
  if (!text::expand_hostlist(*names)) return rejected(to, "Invalid node name specified");
  to.request.spec.set_node_list(std::move(*names));
  return {};
}

Status extra_node_info(const Assignment& to) {
  // sockets[:cores[:threads]], each a number (or the least of a range), "*" or nothing.
  auto parts = text::split(to.text(), ':');
  constexpr std::string_view kPlaces[] = {"first", "second", "third"};
  if (parts.size() > 3 && to.invocation.release < kSlurm26) return invalid(to);
  parts.resize(std::min<size_t>(parts.size(), 3));  // what follows is not read
  uint32_t values[3] = {};
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string_view least = parts[i].substr(0, parts[i].find('-', 1));
    if (least.empty() || least == "*") continue;
    auto value = text::parse_unsigned(text::skip_blanks_and_plus(least), kMaxNumber);
    if (!value || *value == 0) return not_numeric(parts[i], std::string(kPlaces[i]) + " arg of -B");
    values[i] = static_cast<uint32_t>(*value);
  }
  // It says all three: what it leaves out is not asked for any more.
  to.request.spec.clear_sockets_per_node();
  to.request.spec.clear_cores_per_socket();
  to.request.spec.clear_threads_per_core();
  if (values[0] != 0) to.request.spec.set_sockets_per_node(values[0]);
  if (values[1] != 0) to.request.spec.set_cores_per_socket(values[1]);
  if (values[2] != 0) to.request.spec.set_threads_per_core(values[2]);
  return {};
}

Status exclusive(const Assignment& to) {
  std::string_view value = to.text();
  bool known = value.empty();
  for (std::string_view word : {"user", "mcs", "topo", "exclusive"})
    known = known || text::equals_ignoring_case(value, word);
  if (!known) return invalid(to);
  // "user", "mcs" and "topo" shut out only others' jobs: one user's own cluster has none, and a shared one
  // gives whole nodes. Otherwise a job gets whole nodes; a step within a job gets its CPUs alone, which is
  // decided where --jobid is known.
  bool against_others = !value.empty() && !text::equals_ignoring_case(value, "exclusive");
  to.request.spec.set_exclusive(!against_others);
  to.request.spec.set_exclusive_mode(against_others ? text::lower_case(value) : std::string());
  to.request.spec.clear_oversubscribe();
  return {};
}
// The later option counts.
Status oversubscribe(const Assignment& to) {
  to.request.spec.set_oversubscribe(true);
  to.request.spec.set_exclusive(false);
  to.request.spec.clear_exclusive_mode();
  return {};
}

Status gpus(const Assignment& to) {
  return gpu_list(to, to.text(), to.request.spec.mutable_gpus(), to.request.spec.mutable_tres_per_job());
}
Status gpus_per_socket(const Assignment& to) {
  return gpu_list(to, to.text(), to.request.spec.mutable_gpus_per_socket(),
                  to.request.spec.mutable_tres_per_socket());
}
Status gpus_per_task(const Assignment& to) {
  to.request.spec.clear_tres_per_task();
  std::string_view amounts = to.text();
  if (to.invocation.release >= kSlurm24) {  // it is kept as a number
    amounts = text::skip_blanks_and_plus(amounts);
    if (amounts.starts_with('-')) return failure(kNoCount, kFailureStatus);
  }
  return gpu_list(to, amounts, to.request.spec.mutable_gpus_per_task(),
                  to.request.spec.mutable_tres_per_task());
}

// --gres and --gpus-per-node fill one field; the GPUs of one replace those of the other.
Status gpus_per_node(const Assignment& to) {
  auto list = to.text().empty() ? Result<std::vector<model::Gres>>() : parse_gpus(to, to.text());
  if (!list) return invalid_gres(list.error());
  std::vector<model::Gres> kept;
  for (const model::Gres& entry : to.request.spec.gres_per_node()) {
    if (entry.name() != "gpu") kept.push_back(entry);
  }
  const std::string before = tres_per_node_of(to.request.spec);
  std::string given = as_given(to.text(), "gpu:", {});
  if (!before.empty()) given += "," + before;
  kept.insert(kept.end(), list->begin(), list->end());
  assign(to.request.spec.mutable_gres_per_node(), kept);
  to.request.spec.set_gpus_per_node(std::string(to.text()));
  to.request.spec.set_tres_per_node(given == text::format_tres_per(kept) ? std::string() : given);
  return {};
}

Status gres(const Assignment& to) {
  if (text::equals_ignoring_case(to.text(), "help")) {
    to.request.lists_gres = true;
    return {};
  }
  const auto items = text::split(to.text(), ',');
  const bool has_gap = items.size() > 1 && std::count(items.begin(), items.end(), std::string_view()) > 0;
  if (has_gap && to.invocation.release < kSlurm24) return rejected(to, kNoCount);
  auto list = to.invocation.release >= kSlurm24 ? current_gres_list(to.text())
                                                : text::parse_gres_list(without_pluses(to.text()));
  if (!list) return invalid_gres(list.error());
  std::string given = as_given(to.text(), "", *list);
  if (to.request.is_given("gpus-per-node")) {  // listings show both
    const std::string before = tres_per_node_of(to.request.spec);
    given = as_given(to.text(), "", {});
    if (!before.empty()) given = given.empty() ? before : before + "," + given;
  }
  assign(to.request.spec.mutable_gres_per_node(), *list);
  to.request.spec.set_tres_per_node(given);
  return {};
}

Status hint(const Assignment& to) {
  if (to.text() == "help")
    return failure(
        "Application hint options:\n"
        "    --hint=             Bind tasks according to application hints\n"
        "        compute_bound   use all cores in each socket\n"
        "        memory_bound    use only one core in each socket\n"
        "        [no]multithread [don't] use extra threads with in-core multi-threading\n"
        "        help            show this help message\n",
        kHelpStatus);
  constexpr std::string_view kHints[] = {"compute_bound", "memory_bound", "multithread", "nomultithread"};
  for (const std::string_view given : text::split(to.text(), ',')) {
    const std::string word = text::lower_case(given);
    if (std::find(std::begin(kHints), std::end(kHints), word) == std::end(kHints)) {
      to.request.spec.clear_hint();
      return failure("unrecognized --hint argument \"" + std::string(given) + "\", see --hint=help",
                     kFailureStatus);
    }
    to.request.spec.set_hint(word);  // the last of several counts
  }
  return {};
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

// MARGIN in percent, and DELAY as a time, both at least 1: kept as numbers of percent and minutes.
Status mem_update(const Assignment& to) {
  const std::string_view text = to.text();
  const size_t at = text.find('@');
  if (at == std::string_view::npos) return failure("--mem-update requires MARGIN@DELAY format", kUsageStatus);
  const auto margin = text::parse_unsigned(text::skip_blanks_and_plus(text.substr(0, at)), kMaxNumber);
  const auto delay = text::parse_minutes(text.substr(at + 1));
  if (margin.value_or(0) == 0 || !delay || *delay == 0 || *delay == text::kUnlimited) return invalid(to);
  to.request.spec.set_mem_update(std::to_string(*margin) + "@" + std::to_string(*delay));
  return {};
}

Status nodes(const Assignment& to) {
  std::string_view text = to.text();
  if (text.find_first_of(",:") != std::string_view::npos && to.invocation.release >= kSlurm24) {
    // Nothing before the first comma is no count, and is told as it is read.
    if (text.starts_with(',')) return failure("invalid number of nodes (-N -1--1)", kFailureStatus);
    const auto counts = node_counts(text);
    if (!counts) return failure(counts.error());
    if (no_nodes(to, counts->front(), counts->back())) return rejected(to, kNoNodes);
    to.request.spec.set_min_nodes(counts->front());
    to.request.spec.set_max_nodes(counts->back());
    to.request.spec.mutable_node_counts()->Assign(counts->begin(), counts->end());
    return {};
  }
  to.request.spec.clear_node_counts();
  size_t dash = text.find('-');
  auto not_valid = [](std::string_view part) -> Status {
    std::string message = "\"";
    return failure(message.append(part).append("\" is not a valid node count"), kUsageStatus);
  };
  // "-3" means at most three, as Slurm reads it.
  const bool most_alone = dash == 0 && text.size() > 1;
  auto least = most_alone ? std::optional<uint32_t>(0) : node_count(text.substr(0, dash));
  if (!least) return not_valid(dash == 0 ? text : text.substr(0, dash));
  auto most = least;
  if (dash != std::string_view::npos) {
    if (dash + 1 == text.size() && !most_alone && dash > 0)
      return failure("Maximum node count -1 is less than minimum node count " + std::to_string(*least),
                     kUsageStatus);
    most = node_count(text.substr(dash + 1));
    if (!most) return not_valid(text.substr(dash + 1));
  }
  const bool unbounded = *most == 0 && *least > 0;  // "2-0"
  if (*most < *least && !unbounded) {
    return failure("Maximum node count " + std::to_string(*most) + " is less than minimum node count " +
                       std::to_string(*least),
                   kUsageStatus);
  }
  if (!most_alone && no_nodes(to, *least, *most)) return rejected(to, kNoNodes);
  if (*most == 0 && most_alone) return not_valid(text);
  to.request.spec.set_min_nodes(std::max(*least, uint32_t{1}));
  if (unbounded) {
    to.request.spec.clear_max_nodes();
  } else {
    to.request.spec.set_max_nodes(*most);
  }
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

namespace {
// What newer releases say of an amount by task before anything is submitted; nothing: they take it.
std::optional<std::string> tres_per_task_mistake(const Assignment& to) {
  const auto names = [](std::string_view word, std::string_view type) {
    return text::starts_with_ignoring_case(word, type) &&
           (word.size() == type.size() ||
            std::string_view("=:/").find(word[type.size()]) != std::string_view::npos);
  };
  for (const std::string_view word : text::split(to.text(), ',')) {
    if (names(word, "cpu")) {
      const auto count = word.size() > 4 ? text::parse_unsigned(word.substr(4), kMaxNumber) : 0;
      if (!count) continue;  // no number: its own mistake
      if (*count == 0) return "Invalid --tres-per-task=cpu=0";
    }
    for (const std::string_view other : {"mem", "node", "bb", "energy", "billing", "fs", "vmem", "pages"})
      if (names(word, other)) return "Invalid TRES for --tres-per-task: " + std::string(other);
  }
  return std::nullopt;
}
}  // namespace

Status tres_per_task(const Assignment& to) {
  if (to.invocation.release >= kSlurm26) {
    if (const auto mistake = tres_per_task_mistake(to)) return failure("fatal: " + *mistake, kFailureStatus);
    if (to.text().empty()) return {};
  }
  // Reads cpu=2,gres/gpu:a100=1,license/x=1; a colon may replace "/" or "=".
  std::string gres;
  std::optional<uint64_t> cpus;
  std::vector<std::pair<std::string, uint32_t>> licenses;
  auto is = [](std::string_view word, std::string_view type) {
    return text::starts_with_ignoring_case(word, type) && word.size() > type.size() &&
           std::string_view("=:/").find(word[type.size()]) != std::string_view::npos;
  };
  for (std::string_view word : text::split(to.text(), ',')) {
    if (is(word, "cpu")) {
      cpus = text::parse_unsigned(word.substr(4), kMaxNumber);
      if (!cpus && to.invocation.release >= kSlurm26) return rejected(to, kNoCount);
      if (!cpus || *cpus == 0) return invalid(to);
    } else if (is(word, "gres")) {
      if (!gres.empty()) gres += ',';
      gres += word;
    } else if (is(word, "license")) {
      std::string_view name = word.substr(8);
      size_t equals = name.find_last_of("=:");
      auto count = equals == std::string_view::npos
                       ? std::optional<uint64_t>(1)
                       : text::parse_unsigned(name.substr(equals + 1), kMaxNumber);
      if (!count && to.invocation.release >= kSlurm26) return rejected(to, kNoCount);
      if (!count || name.substr(0, equals).empty()) return invalid(to);
      if (*count == 0) continue;
      licenses.emplace_back(name.substr(0, equals), static_cast<uint32_t>(*count));
    } else if (to.invocation.release >= kSlurm24 && word.find_first_of("=:/") == std::string_view::npos) {
      to.request.notes.push_back("warning: --tres-per-task: " + std::string(word) +
                                 " names no amount and is not read");
    } else {
      return rejected(to, "Invalid Trackable RESource (TRES) specification");
    }
  }
  auto list = text::parse_gres_list(gres);
  if (!list && to.invocation.release >= kSlurm26) return failure(kNoCount, kFailureStatus);
  if (!list) return invalid(to);
  if (cpus) to.request.spec.set_cpus_per_task(static_cast<uint32_t>(*cpus));
  if (!list->empty()) assign(to.request.spec.mutable_gpus_per_task(), *list);
  to.request.licenses_per_task = std::move(licenses);
  to.request.spec.set_tres_per_task(std::string(to.text()));
  return {};
}

Status wait_all_nodes(const Assignment& to) {
  const std::string_view digits = text::skip_blanks_and_plus(to.text());
  auto value = digits.empty() ? std::optional<uint64_t>(0) : text::parse_unsigned(digits, 1);
  if (!value && !text::parse_unsigned(digits, kMaxNumber)) return not_numeric(to.text(), "--wait-all-nodes");
  if (!value) return invalid(to);
  to.request.wait_all_nodes = *value == 1;
  to.request.spec.set_wait_all_nodes(*value == 1);
  return {};
}

}  // namespace minke::submit::set
