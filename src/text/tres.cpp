#include "text/tres.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "model/job_record.pb.h"
#include "model/job_terms.pb.h"
#include "model/no_consume.h"
#include "model/shards.h"
#include "text/gres_count.h"
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

// Of several entries of one name and type the last counts.
bool put(std::vector<model::Gres>& out, std::string_view name, std::string_view type, uint32_t count) {
  std::erase_if(out, [&](const model::Gres& entry) { return entry.name() == name && entry.type() == type; });
  if (count == 0) return true;
  model::Gres& entry = out.emplace_back();
  entry.set_name(std::string(name));
  entry.set_type(std::string(type));
  entry.set_count(count);
  return true;
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

// Blanks around an entry are no part of it, unless any word is a type.
std::string_view without_blanks(std::string_view item, GresTypes types) {
  return types == GresTypes::kAny ? item : trim(item);
}

// Adds the fields behind a name: "", "2", "a100", "a100:2", with "=" allowed before the count.
bool add_fields(std::vector<model::Gres>& out, std::string_view name, std::string_view fields,
                GresTypes types) {
  const bool any = types == GresTypes::kAny;
  if (fields.empty()) return put(out, name, "", 1);
  size_t separator = fields.find_last_of(":=");
  std::string_view last = separator == std::string_view::npos ? fields : fields.substr(separator + 1);
  std::string_view type =
      separator == std::string_view::npos ? std::string_view() : fields.substr(0, separator);
  auto count = parse_count(last);
  if (separator == std::string_view::npos) {
    if (count) return put(out, name, "", *count);
    const bool too_large = fields.empty() || is_digits(fields);
    return (is_name(fields) || (any && !too_large)) && put(out, name, fields, 1);
  }
  if (!count) return false;
  if (any && type.find('=') == std::string_view::npos) return put(out, name, type, *count);
  // Of a node: "bandwidth:lustre:no_consume:4096".
  const std::string_view plain = model::type_of(type);
  if (plain.size() < type.size() && plain != "" && is_name(plain)) return put(out, name, type, *count);
  // A type may be a number: gpu:3090:1.
  return is_word(type) && std::isalnum(static_cast<unsigned char>(type[0])) && put(out, name, type, *count);
}

std::string entry_text(std::string_view name, std::string_view type) {
  std::string out(name);
  if (!type.empty()) out.append(1, ':').append(type);
  return out;
}

}  // namespace

Result<std::vector<model::Gres>> parse_gres_list(std::string_view text, GresTypes types) {
  std::vector<model::Gres> out;
  if (trim(text).empty() || equals_ignoring_case(trim(text), "none")) return out;
  for (std::string_view item : split(text, ',')) {
    item = without_blanks(item, types);
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
    if (!add_fields(out, name, fields, types)) return invalid();
  }
  return out;
}

Result<std::vector<model::Gres>> parse_gpu_list(std::string_view text, GresTypes types) {
  std::vector<model::Gres> out;
  for (std::string_view item : split(text, ',')) {
    item = without_blanks(item, types);
    if (item.empty() || !add_fields(out, "gpu", item, types)) return invalid();
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

std::string format_gres_offer(std::span<const model::Gres> gres) {
  constexpr std::string_view kUnits = "KM";
  std::string out;
  for (const model::Gres& entry : gres) {
    uint32_t count = entry.count();
    size_t unit = 0;
    for (; count != 0 && count % 1024 == 0 && unit < kUnits.size(); ++unit) count /= 1024;
    out.append(out.empty() ? "" : ",").append(entry_text(entry.name(), entry.type()));
    out.append(1, ':').append(std::to_string(count)).append(unit == 0 ? "" : kUnits.substr(unit - 1, 1));
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
    if (entry.name() == "gpu" || entry.name() == "shard") {
      out.append(1, ':').append(std::to_string(indices.size()));
      out.append("(IDX:").append(format_indices(indices)).append(1, ')');
    } else {
      out.append("(CNT:").append(std::to_string(units_of(entry))).append(1, ')');
    }
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

namespace {

// "1.50G", "4000M", "512": in MiB, a fraction rounded up.
std::optional<uint64_t> parse_printed_mib(std::string_view text) {
  constexpr std::string_view kUnits = "KMGTPE";
  constexpr double kMost = 1e15;
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || !(value >= 0)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  const size_t unit = text.empty() ? 1 : kUnits.find(to_upper(text.front()));
  if (unit == std::string_view::npos) return std::nullopt;
  value = unit == 0 ? value / 1024 : value * std::pow(1024.0, static_cast<double>(unit - 1));
  return value < kMost ? std::optional(static_cast<uint64_t>(std::ceil(value))) : std::nullopt;
}

}  // namespace

TresAmounts parse_tres(std::string_view text) {
  TresAmounts amounts;
  std::vector<std::pair<std::string_view, uint32_t>> plain;  // by name, of all types
  for (const std::string_view term : split(text, ',')) {
    const size_t equals = term.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = term.substr(0, equals), value = term.substr(equals + 1);
    const uint64_t count = parse_unsigned(value, 0x7fffffff).value_or(0);
    if (name == "cpu") amounts.cpus = count;
    if (name == "node") amounts.nodes = count;
    if (name == "billing") amounts.billing = count;
    if (name == "mem") amounts.memory_mib = parse_printed_mib(value).value_or(0);
    if (name.starts_with("license/")) add(amounts.licenses, name.substr(8), "", static_cast<uint32_t>(count));
    if (!name.starts_with("gres/") || count == 0) continue;
    const std::string_view kind = name.substr(5);
    const size_t colon = kind.find(':');
    if (colon == std::string_view::npos) {
      plain.emplace_back(kind, static_cast<uint32_t>(count));
      continue;
    }
    add(amounts.gres, kind.substr(0, colon), kind.substr(colon + 1), static_cast<uint32_t>(count));
  }
  for (auto& [name, count] : plain) {
    for (const model::Gres& typed : amounts.gres) {
      if (typed.name() == name) count -= std::min(count, typed.count());
    }
    add(amounts.gres, name, "", count);
  }
  return amounts;
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
    if (entry.untracked()) continue;
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
  for (const model::Gres& license : amounts.licenses)
    items.push_back({"license/" + license.name(), std::to_string(license.count())});
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
