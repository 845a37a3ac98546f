#include "view/usage_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "accounts/billing.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "text/timestamp.h"
#include "view/text.h"

namespace minke::view {
namespace {

const char* const kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::string printable(const std::string& bytes) {
  std::string shown;
  for (const char c : bytes) shown += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
  return shown;
}

}  // namespace

UsageReport::UsageReport(int64_t begin, int64_t now) : begin_(begin), now_(std::min(now, begin + kYear)) {}

void UsageReport::Amount::add(const Amount& rate, double seconds) {
  cores += rate.cores * seconds;
  gpus += rate.gpus * seconds;
  rgu += rate.rgu * seconds;
}

double UsageReport::seconds(const model::JobRecord& job, int64_t from, int64_t until) const {
  const int64_t ended = is_finished(job.state()) ? job.end_time() : now_;
  const int64_t run = std::min({ended, until, now_}) - std::max(job.start_time(), from);
  if (run <= 0) return 0;
  // The time of suspensions is not known: takes the same part of all its time.
  const auto whole = static_cast<double>(std::max<int64_t>(1, ended - job.start_time()));
  const double suspended = std::min(whole, static_cast<double>(job.suspended_seconds()));
  return static_cast<double>(run) * (1 - suspended / whole);
}

void UsageReport::add(const model::JobRecord& job) {
  if (job.state() == model::JOB_PENDING || job.start_time() == 0) return;
  if (seconds(job, begin_, now_) <= 0) return;
  Amount rate;
  rate.cores = job.num_cpus();
  for (const model::Gres& gres : job.tres_gres()) {
    if (gres.name() != "gpu") continue;
    rate.gpus += gres.count();
    if (const auto rgu = accounts::rgu_of(gres.type())) {
      rate.rgu += *rgu * gres.count();
      rgu_of_models_[gres.type().substr(0, gres.type().find('_'))] +=
          *rgu * gres.count() * seconds(job, begin_, now_);
    } else {
      unknown_types_.insert(gres.type().empty() ? "without a type" : gres.type());
    }
  }
  const std::string account = job.account().empty() ? job.spec().account() : job.account();
  for (Used* used : {&accounts_[account], &users_[{account, job.user_name()}]}) {
    used->all.add(rate, seconds(job, begin_, now_));
    used->recent.add(rate, seconds(job, std::max(begin_, now_ - kRecent), now_));
    for (size_t part = 0; part < kParts; ++part) {
      const int64_t from = begin_ + kYear * static_cast<int64_t>(part) / int64_t{kParts};
      const int64_t until = begin_ + kYear * static_cast<int64_t>(part + 1) / int64_t{kParts};
      const double within = seconds(job, from, until);
      used->parts[part] += (rate.rgu > 0 ? rate.rgu : rate.cores) * within;
      used->twelfths[part].add(rate, within);
    }
  }
}

Status UsageReport::set_equivalent(const std::string& model) {
  if (!accounts::rgu_of(model))
    return failure(fmt::format("no RGU are known for a GPU {}; they are for {}", model,
                               fmt::join(accounts::rgu_types(), ", ")));
  equivalent_ = model;
  return {};
}

std::string UsageReport::equivalent() const {
  if (!equivalent_.empty()) return equivalent_;
  std::string most;
  double used = 0;
  for (const auto& [model, rgu] : rgu_of_models_) {
    if (rgu > used && accounts::rgu_of(model)) {
      most = model;
      used = rgu;
    }
  }
  return most;
}

double UsageReport::equivalents(double rgu) const {
  const auto one = accounts::rgu_of(equivalent());
  return one ? rgu / *one : 0;
}

double UsageReport::projected(double all, double recent) const {
  const auto past = static_cast<double>(std::max<int64_t>(1, std::min(kRecent, now_ - begin_)));
  return (all + recent / past * static_cast<double>(end() - now_)) / static_cast<double>(kYear);
}

void UsageReport::allocation(const std::string& account, double core_years, double rgu_years,
                             const std::vector<std::string>& of) {
  allocations_.push_back({account, core_years, rgu_years, of});
}

UsageReport::Used UsageReport::used_by(const Allocation& allocation) const {
  Used sum;
  for (const std::string& account : allocation.of) {
    const auto found = accounts_.find(account);
    if (found == accounts_.end()) continue;
    sum.all.add(found->second.all, 1);
    sum.recent.add(found->second.recent, 1);
    for (size_t part = 0; part < kParts; ++part) sum.twelfths[part].add(found->second.twelfths[part], 1);
  }
  return sum;
}

std::string UsageReport::allocations_text() const {
  if (allocations_.empty()) return {};
  const std::string model = equivalent().empty() ? "GPU equiv." : printable(equivalent()) + " equiv.";
  std::string out = fmt::format("\n{:<28} {:>12} {:>9} {:>10} {:>12} {:>9} {:>10} {:>12}\n", "Allocation",
                                "core-years", "used", "projected", "RGU-years", "used", "projected", model);
  const auto part = [](double given, double years) {
    return given > 0 ? fmt::format("{:.1f} %", 100 * years / given) : std::string("-");
  };
  constexpr double kOne = static_cast<double>(kYear);
  for (const Allocation& one : allocations_) {
    const Used used = used_by(one);
    const double gpus = equivalents(one.rgu_years);
    out += fmt::format("{:<28} {:>12.4f} {:>9} {:>10} {:>12.4f} {:>9} {:>10} {:>12}\n",
                       printable(one.account), one.core_years, part(one.core_years, used.all.cores / kOne),
                       part(one.core_years, projected(used.all.cores, used.recent.cores)), one.rgu_years,
                       part(one.rgu_years, used.all.rgu / kOne),
                       part(one.rgu_years, projected(used.all.rgu, used.recent.rgu)),
                       gpus > 0 ? fmt::format("{:.1f}", gpus) : "-");
  }
  return out;
}

std::string UsageReport::text() const {
  constexpr double kOne = static_cast<double>(kYear);
  std::string out = fmt::format("From {} to {}, {:.0f} % of the year\n\n", text::format_time(begin_),
                                text::format_time(now_), 100.0 * static_cast<double>(now_ - begin_) / kOne);
  const std::string model = equivalent().empty() ? "GPU equiv." : printable(equivalent()) + " equiv.";
  out += fmt::format("{:<28} {:>12} {:>12} {:>12} {:>12} {:>14} {:>14}\n", "Account / user", "core-years",
                     "GPU-years", "RGU-years", model, "projected core", "projected RGU");
  const auto line = [&](const std::string& name, const Used& used) {
    out += fmt::format("{:<28} {:>12.4f} {:>12.4f} {:>12.4f} {:>12.4f} {:>14.4f} {:>14.4f}\n",
                       printable(name), used.all.cores / kOne, used.all.gpus / kOne, used.all.rgu / kOne,
                       equivalents(used.all.rgu / kOne), projected(used.all.cores, used.recent.cores),
                       projected(used.all.rgu, used.recent.rgu));
  };
  for (const auto& [account, used] : accounts_) {
    line(account.empty() ? "(none)" : account, used);
    for (auto user = users_.lower_bound({account, ""}); user != users_.end() && user->first.first == account;
         ++user)
      line("  " + user->first.second, user->second);
  }
  if (accounts_.empty()) out += "nothing was used\n";
  for (const auto& [account, used] : accounts_) {
    const double most = *std::max_element(used.parts.begin(), used.parts.end());
    out += fmt::format("{}{:<28} |", &used == &accounts_.begin()->second ? "\n" : "",
                       printable(account.empty() ? "(none)" : account));
    for (const double part : used.parts)
      out += kBlocks[most > 0 ? static_cast<size_t>(part / most * 8 + 0.5) : 0];
    out += "| by twelfths of the year\n";
  }
  out += allocations_text();
  for (const std::string& type : unknown_types_)
    out += "No RGU are known for GPUs " + printable(type) + ": not in RGU-years\n";
  return out;
}

std::string UsageReport::json() const {
  constexpr double kOne = static_cast<double>(kYear);
  const auto amounts = [&](const Used& used) {
    auto core_years = nlohmann::ordered_json::array(), rgu_years = core_years;
    for (const Amount& twelfth : used.twelfths) {
      core_years.push_back(twelfth.cores / kOne);
      rgu_years.push_back(twelfth.rgu / kOne);
    }
    return nlohmann::ordered_json{{"core_years", used.all.cores / kOne},
                                  {"gpu_years", used.all.gpus / kOne},
                                  {"rgu_years", used.all.rgu / kOne},
                                  {"gpu_equivalents", equivalents(used.all.rgu / kOne)},
                                  {"projected_core_years", projected(used.all.cores, used.recent.cores)},
                                  {"projected_gpu_years", projected(used.all.gpus, used.recent.gpus)},
                                  {"projected_rgu_years", projected(used.all.rgu, used.recent.rgu)},
                                  {"core_years_by_twelfths", std::move(core_years)},
                                  {"rgu_years_by_twelfths", std::move(rgu_years)}};
  };
  nlohmann::ordered_json document{
      {"begin", begin_}, {"end", end()}, {"now", now_}, {"equivalent_gpu", equivalent()}};
  document["accounts"] = nlohmann::ordered_json::array();
  for (const auto& [account, used] : accounts_) {
    nlohmann::ordered_json one = amounts(used);
    one["account"] = account;
    one["users"] = nlohmann::ordered_json::array();
    for (auto user = users_.lower_bound({account, ""}); user != users_.end() && user->first.first == account;
         ++user) {
      nlohmann::ordered_json row = amounts(user->second);
      row["user"] = user->first.second;
      one["users"].push_back(std::move(row));
    }
    document["accounts"].push_back(std::move(one));
  }
  document["allocations"] = nlohmann::ordered_json::array();
  for (const Allocation& one : allocations_) {
    nlohmann::ordered_json row{{"account", one.account},
                               {"allocated_core_years", one.core_years},
                               {"allocated_rgu_years", one.rgu_years},
                               {"allocated_gpu_equivalents", equivalents(one.rgu_years)}};
    row.update(amounts(used_by(one)));
    document["allocations"].push_back(std::move(row));
  }
  document["gpus_without_rgu"] = unknown_types_;
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace minke::view
