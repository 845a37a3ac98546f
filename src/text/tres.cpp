#include "text/tres.h"

#include <algorithm>

#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"
#include "model/shards.h"
#include "text/memory.h"
#include "text/number.h"

namespace minke::text {
namespace {

constexpr uint64_t kMaxCount = 4294967293;

tl::unexpected<Error> invalid() {
  return failure("Invalid generic resource (gres) specification");
}

std::optional<uint32_t> parse_count(std::string_view text) {
  uint64_t factor = 1;
  if (!text.empty() && to_lower(text.back()) == 'k') factor = 1024;
  if (!text.empty() && to_lower(text.back()) == 'm') factor = 1024 * 1024;
  if (factor != 1) text.remove_suffix(1);
  auto number = parse_unsigned(text, kMaxCount / factor);
  if (!number) return std::nullopt;
  return static_cast<uint32_t>(*number * factor);
}

bool is_word(std::string_view text) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' || c == '+' ||
           c == '/';
  });
}

// A name or a type: "gpu", "a100", "1g.10gb"; not a number of any sign or size.
bool is_name(std::string_view text) {
  return is_word(text) && std::isalnum(static_cast<unsigned char>(text[0])) &&
         std::any_of(text.begin(), text.end(),
                     [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
}

// Adds to the entry of the same name and type. Returns false if the sum grows too large.
bool add(std::vector<model::Gres>& out, std::string_view name, std::string_view type, uint32_t count) {
  if (count == 0) return true;
  for (model::Gres& entry : out) {
    if (entry.name() != name || entry.type() != type) continue;
    if (uint64_t{entry.count()} + count > kMaxCount) return false;
    entry.set_count(entry.count() + count);
    return true;
  }
  model::Gres& entry = out.emplace_back();
  entry.set_name(std::string(name));
  entry.set_type(std::string(type));
  entry.set_count(count);
  return true;
}

// Adds the fields behind a name: "", "2", "a100", "a100:2", with "=" allowed before the count.
bool add_fields(std::vector<model::Gres>& out, std::string_view name, std::string_view fields) {
  if (fields.empty()) return add(out, name, "", 1);
  size_t separator = fields.find_last_of(":=");
  std::string_view last = separator == std::string_view::npos ? fields : fields.substr(separator + 1);
  std::string_view type =
      separator == std::string_view::npos ? std::string_view() : fields.substr(0, separator);
  auto count = parse_count(last);
  if (separator == std::string_view::npos) {
    if (count) return add(out, name, "", *count);
    return is_name(fields) && add(out, name, fields, 1);
  }
  return count && is_name(type) && add(out, name, type, *count);
}

std::string entry_text(std::string_view name, std::string_view type) {
  std::string out(name);
  if (!type.empty()) out.append(1, ':').append(type);
  return out;
}

}  // namespace

Result<std::vector<model::Gres>> parse_gres_list(std::string_view text) {
  std::vector<model::Gres> out;
  text = trim(text);
  if (text.empty() || equals_ignoring_case(text, "none")) return out;
  for (std::string_view item : split(text, ',')) {
    item = trim(item);
    const bool is_tres = starts_with_ignoring_case(item, "gres/");  // gres/gpu=2
    if (is_tres || starts_with_ignoring_case(item, "gres:")) item.remove_prefix(5);
    size_t end = item.find_first_of(":=");
    std::string_view name = item.substr(0, end);
    // "gres" alone is the prefix with no name behind it.
    if (!is_name(name) || equals_ignoring_case(name, "gres") ||
        (!is_tres && end != std::string_view::npos && item[end] == '=') ||
        (end != std::string_view::npos && end + 1 == item.size()))
      return invalid();
    std::string_view fields = end == std::string_view::npos ? std::string_view() : item.substr(end + 1);
    if (!add_fields(out, name, fields)) return invalid();
  }
  return out;
}

Result<std::vector<model::Gres>> parse_gpu_list(std::string_view text) {
  std::vector<model::Gres> out;
  for (std::string_view item : split(trim(text), ',')) {
    item = trim(item);
    if (starts_with_ignoring_case(item, "gpu:")) item.remove_prefix(4);
    if (item.empty() || !add_fields(out, "gpu", item)) return invalid();
  }
  return out;
}

std::string format_gres_list(std::span<const model::Gres> gres) {
  std::string out;
  for (const model::Gres& entry : gres) {
    if (!out.empty()) out += ',';
    out += entry_text(entry.name(), entry.type());
    out.append(1, ':').append(std::to_string(entry.count()));
  }
  return out;
}

std::string format_tres_per(std::span<const model::Gres> gres) {
  std::string out;
  for (const model::Gres& entry : gres) {
    if (!out.empty()) out += ',';
    out.append("gres:").append(entry_text(entry.name(), entry.type()));
    out.append(1, ':').append(std::to_string(entry.count()));
  }
  return out;
}

std::string format_gres_allocation(std::span<const model::GresAllocation> gres) {
  std::string out;
  for (const model::GresAllocation& entry : gres) {
    if (!out.empty()) out += ',';
    out += entry_text(entry.name(), entry.type());
    std::vector<uint32_t> indices(entry.indices().begin(), entry.indices().end());
    if (entry.name() == "shard")  // listed by their GPU
      for (uint32_t& index : indices) index /= model::kShardsOfGpu;
    out.append(1, ':').append(std::to_string(indices.size()));
    out.append("(IDX:").append(format_indices(indices)).append(1, ')');
  }
  return out;
}

std::string format_indices(std::span<const uint32_t> indices) {
  std::vector<uint32_t> sorted(indices.begin(), indices.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string out;
  for (size_t i = 0; i < sorted.size();) {
    size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(sorted[i]);
    if (last > i) out.append(1, '-').append(std::to_string(sorted[last]));
    i = last + 1;
  }
  return out;
}

std::string format_tres(const TresAmounts& amounts, TresOrder order) {
  struct Item {
    std::string name, value;
  };
  std::vector<Item> items;
  if (amounts.cpus != 0) items.push_back({"cpu", std::to_string(amounts.cpus)});
  if (amounts.memory_mib != 0) items.push_back({"mem", format_mib(amounts.memory_mib)});
  if (amounts.nodes != 0) items.push_back({"node", std::to_string(amounts.nodes)});
  if (amounts.billing.value_or(0) != 0) items.push_back({"billing", std::to_string(*amounts.billing)});
  std::vector<model::Gres> plain, typed;
  for (const model::Gres& entry : amounts.gres) {
    add(plain, entry.name(), "", entry.count());
    if (!entry.type().empty()) add(typed, entry.name(), entry.type(), entry.count());
  }
  for (const model::Gres& total : plain) {
    items.push_back({"gres/" + total.name(), std::to_string(total.count())});
    for (const model::Gres& entry : typed) {
      if (entry.name() != total.name()) continue;
      items.push_back({"gres/" + entry_text(entry.name(), entry.type()), std::to_string(entry.count())});
    }
  }
  // sacct sorts the whole "name=value" words, so "gres/gpu:a100=1" comes before "gres/gpu=1".
  if (order == TresOrder::kByName) {
    std::sort(items.begin(), items.end(),
              [](const Item& a, const Item& b) { return a.name + "=" + a.value < b.name + "=" + b.value; });
  }
  std::string out;
  for (const Item& item : items) {
    if (!out.empty()) out += ',';
    out.append(item.name).append(1, '=').append(item.value);
  }
  return out;
}

}  // namespace minke::text
