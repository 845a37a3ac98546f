#include "cli/sacctmgr/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "text/duration.h"
#include "text/memory.h"
#include "text/number.h"

namespace minke::cli {
namespace {

using model::Limits;
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += text::to_lower(c);
  return out;
}

// Names in full, and how many letters are enough. Of several the first is meant.
struct Name {
  std::string_view name;
  size_t shortest;
  std::string_view meaning = {};  // empty: the name itself
};
constexpr Name kNames[] = {
    {"accounts", 3, "account"},
    {"adminlevel", 2},
    {"clusters", 3, "cluster"},
    {"coordinators", 2, "coordinator"},
    {"defaultaccount", 8},
    {"defaultqos", 8},
    {"defaultwckey", 8},
    {"description", 3},
    {"fairshare", 1},
    {"file", 4},
    {"flags", 2},
    {"format", 2},
    {"gracetime", 3},
    {"grptresrunmins", 8},
    {"grpcpurunmins", 7},
    {"grptresmins", 8},
    {"grpcpumins", 8},
    {"grptres", 7},
    {"grpcpus", 6},
    {"grpjobsaccrue", 8},
    {"grpjobs", 4},
    {"grpmemory", 4},
    {"grpnodes", 4},
    {"grpsubmitjobs", 4},
    {"grpwall", 4},
    {"ids", 2, "id"},
    {"maxtresminsperjob", 8, "maxtresmins"},
    {"maxcpuminsperjob", 8, "maxcpumins"},
    {"maxcpusperuser", 11, "maxcpuspu"},
    {"maxcpusperjob", 7, "maxcpus"},
    {"maxcpuspu", 8},
    {"maxcpus", 7},
    {"maxjobsaccruepa", 15},
    {"maxjobsaccruepu", 15},
    {"maxjobsaccrueperaccount", 17, "maxjobsaccruepa"},
    {"maxjobsaccrueperuser", 17, "maxjobsaccruepu"},
    {"maxjobsaccrue", 8},
    {"maxjobsperaccount", 11, "maxjobspa"},
    {"maxjobspa", 9},
    {"maxjobsperuser", 9, "maxjobspu"},
    {"maxjobspu", 9},
    {"maxjobs", 4},
    {"maxnodesperuser", 12, "maxnodespu"},
    {"maxnodesperjob", 4, "maxnodes"},
    {"maxsubmitjobsperaccount", 17, "maxsubmitpa"},
    {"maxsubmitpa", 11},
    {"maxsubmitjobspa", 15, "maxsubmitpa"},
    {"maxsubmitjobsperuser", 15, "maxsubmitpu"},
    {"maxsubmitpu", 11},
    {"maxsubmitjobspu", 15, "maxsubmitpu"},
    {"maxsubmitjobs", 4},
    {"maxtresperaccount", 11, "maxtrespa"},
    {"maxtrespa", 9},
    {"maxtrespernode", 11},
    {"maxtresperuser", 11, "maxtrespu"},
    {"maxtrespu", 9},
    {"maxtresperjob", 7, "maxtres"},
    {"maxwalldurationperjob", 4, "maxwall"},
    {"mintresperjob", 7, "mintres"},
    {"mincpusperjob", 6, "mincpus"},
    {"minpriothreshold", 3},
    {"limitfactor", 2},
    {"names", 1, "name"},
    {"newname", 3},
    {"organization", 1},
    {"parent", 4},
    {"partitions", 4, "partition"},
    {"preemptmode", 8},
    {"preemptexempttime", 8},
    {"preempt", 3},
    {"priority", 3},
    {"qoslevel", 1, "qos"},
    {"qos", 3},
    {"rawusage", 2},
    {"shares", 1, "fairshare"},
    {"usagefactor", 6},
    {"usagethreshold", 6},
    {"users", 1, "user"},
    {"where", 5},
    {"comment", 3},
    {"coreyears", 5},
    {"rguyears", 4},
    {"start", 3},
    {"end", 3},
    {"cluster", 1},
};

std::string full_name(std::string_view given) {
  const std::string name = lower(given);
  for (const Name& known : kNames) {
    if (known.name == name) return std::string(known.meaning.empty() ? known.name : known.meaning);
  }
  for (const Name& known : kNames) {
    if (name.size() >= known.shortest && known.name.starts_with(name))
      return std::string(known.meaning.empty() ? known.name : known.meaning);
  }
  return name;
}

Word word_of(std::string_view text) {
  Word word;
  word.text = text;
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    word.value = text;
    return word;
  }
  size_t end = equals;
  if (end > 0 && (text[end - 1] == '+' || text[end - 1] == '-')) word.sign = text[--end];
  word.name = full_name(text.substr(0, end));
  std::string_view value = text.substr(equals + 1);
  if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  word.value = value;
  return word;
}

// By Slurm's numbers of TRES.
int rank_of(std::string_view name) {
  constexpr std::array<std::string_view, 8> kOrder = {"cpu",     "mem",     "energy", "node",
                                                      "billing", "fs/disk", "vmem",   "pages"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), name) - kOrder.begin());
}

bool takes_away(std::string_view value) {
  return value == "-1";
}

tl::unexpected<Error> bad_value(std::string_view title, const Word& word) {
  return failure(
      fmt::format("sacctmgr: error: Invalid value for {} ({})\n Unknown option: {}\n Use keyword 'where' to "
                  "modify condition",
                  title, word.value, word.text));
}

// One count, or -1 for none.
template <typename Set, typename Clear>
Result<bool> count(const Word& word, std::string_view title, Set set, Clear clear) {
  if (takes_away(word.value)) {
    clear();
    return true;
  }
  const auto value = text::parse_unsigned(word.value, 0xfffffffe);
  if (!value) return bad_value(title, word);
  set(static_cast<uint32_t>(*value));
  return true;
}

template <typename Set, typename Clear>
Result<bool> minutes(const Word& word, std::string_view title, Set set, Clear clear) {
  if (takes_away(word.value)) {
    clear();
    return true;
  }
  const auto value = text::parse_minutes(word.value);
  if (!value) return bad_value(title, word);
  set(*value);
  return true;
}

Result<bool> tres(TresLimits& limits, const Word& word, std::string_view prefix = {}) {
  const Status done = set_tres(limits, std::string(prefix) + word.value);
  if (!done)
    return failure("sacctmgr: error: " + done.error().message + "\n Unknown option: " + word.text +
                   "\n Use keyword 'where' to modify condition");
  return true;
}

#define MINKE_COUNT(field, title) \
  count(                          \
      word, title, [&](uint32_t v) { limits.set_##field(v); }, [&] { limits.clear_##field(); })
#define MINKE_MINUTES(field, title) \
  minutes(                          \
      word, title, [&](uint32_t v) { limits.set_##field(v); }, [&] { limits.clear_##field(); })

// The limits that associations and QOS share.
Result<bool> set_limit(Limits& limits, const Word& word) {
  const std::string& name = word.name;
  if (name == "grpjobs") return MINKE_COUNT(grp_jobs, "GrpJobs");
  if (name == "grpjobsaccrue") return MINKE_COUNT(grp_jobs_accrue, "GrpJobsAccrue");
  if (name == "grpsubmitjobs") return MINKE_COUNT(grp_submit_jobs, "GrpSubmitJobs");
  if (name == "grpwall") return MINKE_MINUTES(grp_wall, "GrpWall");
  if (name == "grptres") return tres(*limits.mutable_grp_tres(), word);
  if (name == "grpcpus") return tres(*limits.mutable_grp_tres(), word, "cpu=");
  if (name == "grpnodes") return tres(*limits.mutable_grp_tres(), word, "node=");
  if (name == "grpmemory") return tres(*limits.mutable_grp_tres(), word, "mem=");
  if (name == "grptresmins") return tres(*limits.mutable_grp_tres_mins(), word);
  if (name == "grpcpumins") return tres(*limits.mutable_grp_tres_mins(), word, "cpu=");
  if (name == "grptresrunmins") return tres(*limits.mutable_grp_tres_run_mins(), word);
  if (name == "grpcpurunmins") return tres(*limits.mutable_grp_tres_run_mins(), word, "cpu=");
  if (name == "maxwall") return MINKE_MINUTES(max_wall, "MaxWall");
  if (name == "maxtres") return tres(*limits.mutable_max_tres(), word);
  if (name == "maxcpus") return tres(*limits.mutable_max_tres(), word, "cpu=");
  if (name == "maxnodes") return tres(*limits.mutable_max_tres(), word, "node=");
  if (name == "maxtrespernode") return tres(*limits.mutable_max_tres_per_node(), word);
  if (name == "maxtresmins") return tres(*limits.mutable_max_tres_mins(), word);
  if (name == "maxcpumins") return tres(*limits.mutable_max_tres_mins(), word, "cpu=");
  if (name == "minpriothreshold") return MINKE_COUNT(min_priority, "MinPrioThreshold");
  return false;
}

std::string known_qos(const sched::AccountBook& book) {
  std::string names;
  for (const auto& [id, one] : book.qos()) names += (names.empty() ? "" : ",") + one.name();
  return names;
}

// "a,b" replaces the list; "+=a", "-=a" and "+a" change it.
Result<bool> qos_list(google::protobuf::RepeatedPtrField<std::string>& list, const Word& word,
                      const sched::AccountBook& book) {
  std::vector<std::string> given = lower_list(word.value);
  for (std::string& name : given) {
    std::string plain = name;
    if (plain[0] == '+' || plain[0] == '-') plain = plain.substr(1);
    if (book.qos(plain) == nullptr)
      return failure("sacctmgr: error: You gave a bad qos '" + plain + "'. Valid QOS's are " +
                     known_qos(book) + "\n Unknown option: " + word.text +
                     "\n Use keyword 'where' to modify condition");
    if (word.sign != '=' && name == plain) name = std::string(1, word.sign) + plain;
  }
  if (word.sign == '=') list.Clear();
  for (const std::string& name : given) {
    const bool changes = name[0] == '+' || name[0] == '-';
    const std::string plain = changes ? name.substr(1) : name;
    const bool absolute = std::any_of(list.begin(), list.end(),
                                      [](const std::string& one) { return one[0] != '+' && one[0] != '-'; });
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const std::string& one) {
                                return one == plain || one == "+" + plain || one == "-" + plain;
                              }),
               list.end());
    if (changes && absolute) {
      if (name[0] == '+') *list.Add() = plain;
    } else {
      *list.Add() = name;
    }
  }
  return true;
}

// Slurm's names of flags; those that change nothing here are refused.
constexpr std::string_view kFlags[] = {"DenyOnLimit", "NoDecay"};
constexpr std::string_view kForeignFlags[] = {
    "EnforceUsageThreshold", "NoReserve",          "OverPartQOS",         "PartitionMaxNodes",
    "PartitionMinNodes",     "PartitionTimeLimit", "RequiresReservation", "UsageFactorSafe"};

Result<bool> set_flags(model::QosRecord& record, const Word& word) {
  auto& list = *record.mutable_flags();
  if (word.sign == '=') list.Clear();
  if (takes_away(word.value)) return true;
  for (const std::string& name : lower_list(word.value)) {
    const auto same = [&](std::string_view flag) { return text::equals_ignoring_case(flag, name); };
    if (std::any_of(std::begin(kForeignFlags), std::end(kForeignFlags), same))
      return failure(" The flag " + name + " is not honoured here: DenyOnLimit and NoDecay are");
    const auto* flag = std::find_if(std::begin(kFlags), std::end(kFlags), same);
    if (flag == std::end(kFlags)) return bad_value("Flags", word);
    list.erase(std::remove(list.begin(), list.end(), std::string(*flag)), list.end());
    if (word.sign != '-') *list.Add() = std::string(*flag);
  }
  std::sort(list.begin(), list.end());
  return true;
}

Result<bool> real(const Word& word, std::string_view title,
                  const std::function<void(std::optional<double>)>& set) {
  if (takes_away(word.value)) {
    set(std::nullopt);
    return true;
  }
  char* end = nullptr;
  const double value = std::strtod(word.value.c_str(), &end);
  if (word.value.empty() || *end != '\0' || !(value >= 0) || value > 1e9) return bad_value(title, word);
  set(value);
  return true;
}

}  // namespace

Words split_words(std::span<char* const> words) {
  Words split;
  std::vector<Word>* into = &split.where;
  for (const std::string_view text : words) {
    if (text::equals_ignoring_case(text, "where")) {
      into = &split.where;
    } else if (text::equals_ignoring_case(text, "set")) {
      into = &split.set;
    } else {
      into->push_back(word_of(text));
    }
  }
  return split;
}

std::vector<std::string> lower_list(std::string_view value) {
  std::vector<std::string> list;
  for (const std::string_view item : text::split(value, ',')) {
    if (!text::trim(item).empty()) list.push_back(lower(text::trim(item)));
  }
  return list;
}

std::vector<std::string> list_of(std::span<const Word> words, std::string_view name) {
  std::vector<std::string> all;
  for (const Word& word : words) {
    if (word.name != name) continue;
    for (std::string& item : lower_list(word.value)) all.push_back(std::move(item));
  }
  return all;
}

Status set_tres(TresLimits& limits, std::string_view value) {
  for (const std::string_view item : text::split(value, ',')) {
    const size_t equals = item.rfind('=');
    if (equals == std::string_view::npos || equals == 0)
      return failure("slurmdb_format_tres_str: no value found");
    const std::string name = lower(text::trim(item.substr(0, equals)));
    const std::string_view amount = text::trim(item.substr(equals + 1));
    if (rank_of(name) == 8 && !name.starts_with("gres/") && !name.starts_with("license/") &&
        !name.starts_with("bb/"))
      return failure("slurmdb_format_tres_str: no TRES known by type " + name);
    limits.erase(std::remove_if(limits.begin(), limits.end(),
                                [&](const model::Tres& one) { return one.name() == name; }),
                 limits.end());
    if (takes_away(amount)) continue;
    model::Tres limit;
    limit.set_name(name);
    if (name == "mem") {
      const auto mib = text::parse_mib(amount);
      if (!mib) return failure("invalid value '" + std::string(amount) + "' for mem");
      limit.set_count(*mib);
    } else {
      const auto number = text::parse_unsigned(amount, uint64_t{1} << 62);
      if (!number) return failure("invalid value '" + std::string(amount) + "' for " + name);
      limit.set_count(*number);
    }
    *limits.Add() = limit;
  }
  std::sort(limits.begin(), limits.end(), [](const model::Tres& a, const model::Tres& b) {
    return std::pair(rank_of(a.name()), a.name()) < std::pair(rank_of(b.name()), b.name());
  });
  return {};
}

std::string tres_text(const TresLimits& limits, bool by_name) {
  std::vector<std::string> items;
  for (const model::Tres& limit : limits) {
    items.push_back(
        limit.name() + "=" +
        (limit.name() == "mem" ? text::format_mib(limit.count()) : std::to_string(limit.count())));
  }
  if (by_name) std::sort(items.begin(), items.end());
  return fmt::format("{}", fmt::join(items, ","));
}

std::string minutes_text(uint32_t minutes) {
  return text::format_minutes(minutes);
}

Result<bool> set_association(model::AssociationRecord& record, const Word& word,
                             const sched::AccountBook& book) {
  Limits& limits = *record.mutable_limits();
  if (word.name == "fairshare") {
    if (text::equals_ignoring_case(word.value, "parent")) {
      record.set_shares(sched::kSharesAsParent);
      return true;
    }
    return count(
        word, "FairShare",
        [&](uint32_t value) { record.set_shares(std::min(value, sched::kSharesAsParent)); },
        [&] { record.set_shares(1); });
  }
  if (word.name == "maxjobs") return MINKE_COUNT(max_jobs, "MaxJobs");
  if (word.name == "maxjobsaccrue") return MINKE_COUNT(max_jobs_accrue, "MaxJobsAccrue");
  if (word.name == "maxsubmitjobs") return MINKE_COUNT(max_submit_jobs, "MaxSubmitJobs");
  if (word.name == "priority")
    return count(
        word, "Priority", [&](uint32_t v) { record.set_priority(v); }, [&] { record.clear_priority(); });
  if (word.name == "qos") return qos_list(*record.mutable_qos(), word, book);
  if (word.name == "comment") {
    record.set_comment(word.value);
    return true;
  }
  if (word.name == "coreyears" || word.name == "rguyears") {
    const bool cores = word.name == "coreyears";
    return real(word, cores ? "CoreYears" : "RGUYears", [&](std::optional<double> value) {
      cores ? record.set_core_years(value.value_or(0)) : record.set_rgu_years(value.value_or(0));
    });
  }
  if (word.name == "defaultqos") {
    if (takes_away(word.value) || word.value.empty()) {
      record.clear_default_qos();
      return true;
    }
    const std::string name = lower(word.value);
    if (book.qos(name) == nullptr)
      return failure("You gave a bad default qos '" + name + "'.  Use 'list qos' to get complete list.");
    record.set_default_qos(name);
    return true;
  }
  auto done = set_limit(limits, word);
  if (limits.ByteSizeLong() == 0) record.clear_limits();
  return done;
}

Result<bool> set_qos(model::QosRecord& record, const Word& word, const sched::AccountBook& book) {
  Limits& limits = *record.mutable_limits();
  const std::string& name = word.name;
  if (name == "description") {
    record.set_description(lower(word.value));
    return true;
  }
  if (name == "flags") return set_flags(record, word);
  if (name == "priority")
    return count(
        word, "Priority", [&](uint32_t v) { record.set_priority(v); }, [&] { record.clear_priority(); });
  if (name == "gracetime")
    return count(
        word, "GraceTime", [&](uint32_t v) { record.set_grace_seconds(v); },
        [&] { record.clear_grace_seconds(); });
  if (name == "preempt") {
    Word plain = word;
    if (plain.value == "-1") plain.value.clear();
    auto done = qos_list(*record.mutable_preempt(), plain, book);
    for (std::string& one : *record.mutable_preempt()) {
      if (one[0] == '+') one = one.substr(1);
    }
    auto& list = *record.mutable_preempt();
    list.erase(std::remove_if(list.begin(), list.end(), [](const std::string& one) { return one[0] == '-'; }),
               list.end());
    return done;
  }
  if (name == "preemptmode") {
    const std::string mode = lower(word.value);
    if (mode != "off" && mode != "cancel" && mode != "requeue" && mode != "suspend" && mode != "cluster")
      return bad_value("PreemptMode", word);
    record.set_preempt_mode(mode == "cluster" ? std::string() : mode);
    return true;
  }
  if (name == "usagefactor")
    return real(word, "UsageFactor", [&](std::optional<double> value) {
      value ? record.set_usage_factor(*value) : record.clear_usage_factor();
    });
  if (name == "usagethreshold" || name == "limitfactor" || name == "preemptexempttime")
    return failure(" " + word.text + ": this is not honoured here");
  if (name == "maxjobspu" || name == "maxjobs") return MINKE_COUNT(max_jobs, "MaxJobsPerUser");
  if (name == "maxjobspa") return MINKE_COUNT(max_jobs_per_account, "MaxJobsPerAccount");
  if (name == "maxjobsaccruepu" || name == "maxjobsaccrue")
    return MINKE_COUNT(max_jobs_accrue, "MaxJobsAccruePerUser");
  if (name == "maxjobsaccruepa") return MINKE_COUNT(max_jobs_accrue_per_account, "MaxJobsAccruePerAccount");
  if (name == "maxsubmitpu" || name == "maxsubmitjobs")
    return MINKE_COUNT(max_submit_jobs, "MaxSubmitJobsPerUser");
  if (name == "maxsubmitpa") return MINKE_COUNT(max_submit_jobs_per_account, "MaxSubmitJobsPerAccount");
  if (name == "maxtrespu") return tres(*limits.mutable_max_tres_per_user(), word);
  if (name == "maxcpuspu") return tres(*limits.mutable_max_tres_per_user(), word, "cpu=");
  if (name == "maxnodespu") return tres(*limits.mutable_max_tres_per_user(), word, "node=");
  if (name == "maxtrespa") return tres(*limits.mutable_max_tres_per_account(), word);
  if (name == "mintres") return tres(*limits.mutable_min_tres(), word);
  if (name == "mincpus") return tres(*limits.mutable_min_tres(), word, "cpu=");
  auto done = set_limit(limits, word);
  if (limits.ByteSizeLong() == 0) record.clear_limits();
  return done;
}

namespace {

class Lines {
 public:
  explicit Lines(int width) : width_(width) {}
  void add(std::string_view name, const std::string& value) {
    if (!value.empty()) fmt::format_to(std::back_inserter(text_), "  {:<{}}= {}\n", name, width_, value);
  }
  void add(std::string_view name, bool is_set, uint32_t value) {
    if (is_set) add(name, std::to_string(value));
  }
  std::string take() { return std::move(text_); }

 private:
  int width_;
  std::string text_;
};

}  // namespace

std::string settings_text(const model::AssociationRecord& record) {
  const Limits& limits = record.limits();
  Lines lines(14);
  if (record.shares() != 1)
    lines.add("Fairshare",
              record.shares() == sched::kSharesAsParent ? "parent" : std::to_string(record.shares()));
  lines.add("GrpTRESMins", tres_text(limits.grp_tres_mins()));
  lines.add("GrpTRESRunMins", tres_text(limits.grp_tres_run_mins()));
  lines.add("GrpTRES", tres_text(limits.grp_tres()));
  lines.add("GrpJobs", limits.has_grp_jobs(), limits.grp_jobs());
  lines.add("GrpJobsAccrue", limits.has_grp_jobs_accrue(), limits.grp_jobs_accrue());
  lines.add("GrpSubmitJobs", limits.has_grp_submit_jobs(), limits.grp_submit_jobs());
  if (limits.has_grp_wall()) lines.add("GrpWall", minutes_text(limits.grp_wall()));
  lines.add("MaxTRESMins", tres_text(limits.max_tres_mins()));
  lines.add("MaxTRES", tres_text(limits.max_tres()));
  lines.add("MaxTRESPerNode", tres_text(limits.max_tres_per_node()));
  lines.add("MaxJobs", limits.has_max_jobs(), limits.max_jobs());
  lines.add("MaxJobsAccrue", limits.has_max_jobs_accrue(), limits.max_jobs_accrue());
  lines.add("MaxSubmitJobs", limits.has_max_submit_jobs(), limits.max_submit_jobs());
  if (limits.has_max_wall()) lines.add("MaxWall", minutes_text(limits.max_wall()));
  lines.add("Priority", record.has_priority(), record.priority());
  lines.add("QOS", fmt::format("{}", fmt::join(record.qos(), ",")));
  lines.add("DefQOS", record.default_qos());
  if (record.core_years() > 0) lines.add("CoreYears", fmt::format("{:g}", record.core_years()));
  if (record.rgu_years() > 0) lines.add("RGUYears", fmt::format("{:g}", record.rgu_years()));
  return lines.take();
}

std::string settings_text(const model::QosRecord& record) {
  const Limits& limits = record.limits();
  std::string text = fmt::format("  Description    = {}\n", record.description());
  Lines lines(25);
  lines.add("Flags", fmt::format("{}", fmt::join(record.flags(), ",")));
  lines.add("GraceTime", record.grace_seconds() != 0, record.grace_seconds());
  lines.add("GrpJobs", limits.has_grp_jobs(), limits.grp_jobs());
  lines.add("GrpSubmitJobs", limits.has_grp_submit_jobs(), limits.grp_submit_jobs());
  lines.add("GrpTRES", tres_text(limits.grp_tres()));
  lines.add("GrpTRESMins", tres_text(limits.grp_tres_mins()));
  lines.add("GrpTRESRunMins", tres_text(limits.grp_tres_run_mins()));
  if (limits.has_grp_wall()) lines.add("GrpWall", minutes_text(limits.grp_wall()));
  lines.add("MaxJobsPerAccount", limits.has_max_jobs_per_account(), limits.max_jobs_per_account());
  lines.add("MaxJobsPerUser", limits.has_max_jobs(), limits.max_jobs());
  lines.add("MaxSubmitJobsPerAccount", limits.has_max_submit_jobs_per_account(),
            limits.max_submit_jobs_per_account());
  lines.add("MaxSubmitJobsPerUser", limits.has_max_submit_jobs(), limits.max_submit_jobs());
  lines.add("MaxTRESPerAccount", tres_text(limits.max_tres_per_account()));
  lines.add("MaxTRESPerJob", tres_text(limits.max_tres()));
  lines.add("MaxTRESPerNode", tres_text(limits.max_tres_per_node()));
  lines.add("MaxTRESPerUser", tres_text(limits.max_tres_per_user()));
  lines.add("MaxTRESMins", tres_text(limits.max_tres_mins()));
  if (limits.has_max_wall()) lines.add("MaxWall", minutes_text(limits.max_wall()));
  lines.add("MinTRESPerJob", tres_text(limits.min_tres()));
  lines.add("Preempt", fmt::format("{}", fmt::join(record.preempt(), ",")));
  std::string mode = record.preempt_mode();
  for (char& c : mode) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  lines.add("PreemptMode", mode);
  lines.add("Priority", record.priority() != 0, record.priority());
  if (record.has_usage_factor()) lines.add("UsageFactor", fmt::format("{:.4f}", record.usage_factor()));
  return text + lines.take();
}

}  // namespace minke::cli
