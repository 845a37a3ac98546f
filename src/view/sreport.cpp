#include "view/sreport.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <cmath>

#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "text/gres_count.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/timestamp.h"
#include "view/text.h"

namespace minke::view {
namespace {

// One line of a report; the report determines which fields are used.
struct Row {
  std::string account, login, proper, qos, wckey, tres, reservation, start, end;
  double used = 0, allocated = 0, idle = 0, planned = 0, reported = 0;
  double total = 0;  // 100 % for percentages
};

struct RowContext {
  const ReportOptions& options;
  const std::string& cluster;
};
using Field = PrintField<Row, RowContext>;

// The unit of seconds, and whether their share is shown; by ReportUnit.
constexpr struct {
  double divisor;  // 0: only the share
  bool with_share;
} kUnits[] = {{1, false}, {60, false}, {3600, false}, {0, true}, {1, true}, {60, true}, {3600, true}};

void append_amount(std::string& out, double seconds, double total, ReportUnit unit) {
  const auto [divisor, with_share] = kUnits[static_cast<size_t>(unit)];
  const std::string share = fmt::format("{:.2f}%", total == 0 ? 0 : 100 * seconds / total);
  if (divisor == 0) {
    out += share;
    return;
  }
  out += fmt::format("{:.0f}", std::floor(seconds / divisor + 1e-9));
  if (with_share) out += "(" + share + ")";
}

template <double Row::*amount>
void amount_of(const Row& row, const RowContext& context, std::string& out) {
  append_amount(out, row.*amount, row.total, context.options.unit);
}
template <std::string Row::*text>
void text_of(const Row& row, const RowContext&, std::string& out) {
  out += row.*text;
}
void cluster(const Row&, const RowContext& context, std::string& out) {
  out += context.cluster;
}
void zero(const Row& row, const RowContext& context, std::string& out) {
  append_amount(out, 0, row.total, context.options.unit);
}

constexpr PrintFit kPlus = PrintFit::kPlus;
constexpr PrintFit kSpill = PrintFit::kSpill;

constexpr Field kFields[] = {
    {"Account", 15, kPlus, text_of<&Row::account>},
    {"Accounts", 15, kPlus, text_of<&Row::account>, "Account"},
    {"Allocated", 8, kSpill, amount_of<&Row::allocated>},
    {"Cluster", 9, kPlus, cluster},
    {"Down", 8, kSpill, zero},
    {"End", 19, kPlus, text_of<&Row::end>},
    {"Energy", 8, kSpill, zero},
    {"Idle", 8, kSpill, amount_of<&Row::idle>},
    {"Login", 9, kPlus, text_of<&Row::login>},
    {"Name", 9, kPlus, text_of<&Row::reservation>},
    {"Overcommitted", 8, kSpill, zero, "Over Comm"},
    {"Planned", 8, kSpill, amount_of<&Row::planned>},
    {"PlannedDown", 8, kSpill, zero, "PLND Down"},
    {"Proper", 15, kPlus, text_of<&Row::proper>, "Proper Name"},
    {"QOS", 12, kPlus, text_of<&Row::qos>},
    {"Reported", 8, kSpill, amount_of<&Row::reported>},
    {"Start", 19, kPlus, text_of<&Row::start>},
    {"TresName", 14, kPlus, text_of<&Row::tres>, "TRES Name"},
    {"Used", 8, kSpill, amount_of<&Row::used>},
    {"Wckey", 15, kPlus, text_of<&Row::wckey>, "WCKey"},
};

bool listed(const std::vector<std::string>& wanted, std::string_view name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

std::string account_of(const model::JobRecord& job) {
  return job.account().empty() ? "root" : job.account();
}

std::string proper_name(const std::string& login) {
  const passwd* entry = getpwnam(login.c_str());
  if (entry == nullptr || entry->pw_gecos == nullptr) return {};
  const std::string_view gecos = entry->pw_gecos;
  return std::string(gecos.substr(0, gecos.find(',')));
}

TresSeconds rates_of(const model::JobRecord& job) {
  TresSeconds rates{};
  const auto at = [&](Tres tres) -> double& { return rates[static_cast<size_t>(tres)]; };
  at(Tres::kCpu) = at(Tres::kBilling) = job.num_cpus();
  at(Tres::kMemory) = static_cast<double>(job.memory_mib());
  at(Tres::kNode) = job.num_nodes();
  at(Tres::kGpu) += static_cast<double>(text::gpus_in(job.tres_gres()));
  return rates;
}

TresSeconds rates_of(const ClusterSize& cluster) {
  TresSeconds rates{};
  rates[static_cast<size_t>(Tres::kCpu)] = rates[static_cast<size_t>(Tres::kBilling)] = cluster.cpus;
  rates[static_cast<size_t>(Tres::kMemory)] = cluster.memory_mib;
  rates[static_cast<size_t>(Tres::kNode)] = cluster.nodes;
  rates[static_cast<size_t>(Tres::kGpu)] = cluster.gpus;
  return rates;
}

std::string default_format(const ReportOptions& options) {
  const std::string last = options.tres.empty() ? "Used,Energy" : "TresName,Used";
  switch (options.report) {
    case Report::kAccountUtilizationByUser:
      return "Cluster,Account,Login,Proper," + last;
    case Report::kAccountUtilizationByQos:
      return "Cluster,Account,QOS," + last;
    case Report::kUserUtilizationByAccount:
    case Report::kTopUsage:
      return "Cluster,Login,Proper,Account," + last;
    case Report::kUserUtilizationByWckey:
      return "Cluster,Login,Proper,Wckey,Used";
    case Report::kWckeyUtilizationByUser:
      return "Cluster,Wckey,Login,Proper,Used";
    case Report::kReservationUtilization:
      return "Cluster,Name,Start,End,TresName,Allocated%20,Idle%20";
    default:
      return (options.tres.empty() ? std::string("Cluster") : std::string("Cluster,TresName")) +
             ",Allocated,Down,PlannedDown,Idle,Planned,Reported";
  }
}

}  // namespace

bool Tally::selects(const model::JobRecord& job) const {
  if (!listed(options_.accounts, account_of(job)) || !listed(options_.users, job.user_name()) ||
      !listed(options_.wckeys, job.spec().wckey()) || !listed(options_.partitions, job.partition()) ||
      (!listed(options_.gids, std::to_string(job.gid())) && !listed(options_.gids, job.group_name())))
    return false;
  if (!options_.jobs.empty() &&
      std::find(options_.jobs.begin(), options_.jobs.end(), job.job_id()) == options_.jobs.end())
    return false;
  if (options_.nodes.empty()) return true;
  const auto hosts = text::expand_hostlist(job.node_list());
  return hosts && std::any_of(hosts->begin(), hosts->end(),
                              [&](const std::string& host) { return listed(options_.nodes, host); });
}

double Tally::overlap(int64_t from, int64_t until) const {
  return static_cast<double>(
      std::max<int64_t>(0, std::min({until, options_.end, now_}) - std::max(from, options_.start)));
}

void Tally::add_wait(const model::JobRecord& job, bool started, const TresSeconds& rates) {
  if (job.eligible_time() == 0) return;
  const int64_t until = started ? job.start_time() : is_finished(job.state()) ? job.end_time() : now_;
  const double seconds = overlap(job.eligible_time(), until);
  for (size_t i = 0; i < rates.size(); ++i) planned_[i] += rates[i] * seconds;
}

void Tally::add_size(const model::JobRecord& job, double seconds) {
  Sizes& sizes = sizes_[options_.report == Report::kJobSizesByWckey ? job.spec().wckey() : account_of(job)];
  sizes.columns.resize(options_.grouping.size() + 1);
  const auto column = static_cast<size_t>(
      std::upper_bound(options_.grouping.begin(), options_.grouping.end(), job.num_cpus()) -
      options_.grouping.begin());
  sizes.columns[column] += options_.print_job_count ? 1 : seconds * job.num_cpus();
  ++sizes.jobs;
}

Tally::Key Tally::key_of(const model::JobRecord& job) const {
  switch (options_.report) {
    case Report::kAccountUtilizationByQos:
      return {account_of(job), job.qos().empty() ? "normal" : job.qos()};
    case Report::kUserUtilizationByAccount:
      return {job.user_name(), account_of(job)};
    case Report::kTopUsage:
      return {job.user_name(), options_.group_accounts ? std::string() : account_of(job)};
    case Report::kUserUtilizationByWckey:
      return {job.user_name(), job.spec().wckey()};
    case Report::kWckeyUtilizationByUser:
      return {job.spec().wckey(), job.user_name()};
    default:
      return {account_of(job), job.user_name()};
  }
}

void Tally::add(const model::JobRecord& job) {
  if (!selects(job)) return;
  const TresSeconds rates = rates_of(job);
  const bool started = job.state() != model::JOB_PENDING && job.start_time() != 0;
  add_wait(job, started, rates);
  if (!started) return;
  const int64_t ended = is_finished(job.state()) ? job.end_time() : now_;
  const double seconds =
      std::max(0.0, overlap(job.start_time(), ended) - static_cast<double>(job.suspended_seconds()));
  if (seconds == 0 &&
      !(options_.print_job_count && ended >= options_.start && job.start_time() < options_.end))
    return;
  if (reports_sizes(options_.report)) return add_size(job, seconds);
  for (Reserved& reserved : reserved_)
    if (reserved.name == job.spec().reservation() && job.start_time() >= reserved.start)
      reserved.allocated += seconds * job.num_cpus();
  TresSeconds& used = used_[key_of(job)];
  for (size_t i = 0; i < rates.size(); ++i) {
    used[i] += rates[i] * seconds;
    allocated_[i] += rates[i] * seconds;
  }
}

void Tally::add(const model::ReservationRecord& reservation, uint64_t cpus) {
  if (overlap(reservation.start_time(), reservation.end_time()) <= 0) return;
  reserved_.push_back({.name = reservation.name(),
                       .start = reservation.start_time(),
                       .end = reservation.end_time(),
                       .cpus = cpus});
}

// The lines of a report under its columns: one for each TRES of each row.
class Tally::Lines {
 public:
  Lines(const Tally& tally, const ClusterSize& cluster, const std::vector<PrintColumn<Field>>& columns,
        std::string& out)
      : tally_(tally), columns_(columns), context_{tally.options_, cluster.name}, out_(out) {
    const ReportOptions& options = tally.options_;
    tres_ = options.tres.empty() ? std::vector{Tres::kCpu} : options.tres;
    const auto window =
        static_cast<double>(std::max<int64_t>(0, std::min(options.end, tally.now_) - options.start));
    rates_ = rates_of(cluster);
    for (size_t i = 0; i < rates_.size(); ++i) capacity_[i] = rates_[i] * window;
  }

  void cluster();
  void accounts_and_users();
  void users();  // or their wckeys
  void accounts_and_qos();
  void reservations();

 private:
  void print(const Row& row) {
    append_print_line<Field>(columns_, tally_.options_.layout, "|", row, context_, out_);
  }
  void print(Row row, const TresSeconds& used) {
    for (Tres tres : tres_) {
      const auto i = static_cast<size_t>(tres);
      row.tres = kTresNames[i];
      row.used = used[i];
      row.total = capacity_[i];
      print(row);
    }
  }

  const Tally& tally_;
  const std::vector<PrintColumn<Field>>& columns_;
  RowContext context_;
  std::string& out_;
  std::vector<Tres> tres_;
  TresSeconds rates_{};     // of the whole cluster
  TresSeconds capacity_{};  // of the cluster within the window
};

void Tally::Lines::cluster() {
  for (Tres tres : tres_) {
    const auto i = static_cast<size_t>(tres);
    if (tres != Tres::kCpu && rates_[i] == 0 && tally_.allocated_[i] == 0) continue;
    Row row;
    row.tres = kTresNames[i];
    row.reported = row.total = capacity_[i];
    row.allocated = std::min(tally_.allocated_[i], row.reported);
    const double left = row.reported - row.allocated;
    // Pending jobs could have had only what was free.
    row.planned = tres == Tres::kCpu ? std::min(tally_.planned_[i], left) : 0;
    row.idle = left - row.planned;
    print(row);
  }
}

void Tally::Lines::accounts_and_users() {
  std::map<std::string, TresSeconds> of_account;
  for (const auto& [key, used] : tally_.used_)
    for (size_t i = 0; i < used.size(); ++i) of_account[key.first][i] += used[i];
  for (const auto& [account, total] : of_account) {
    Row row;
    row.account = account;
    print(row, total);
    for (const auto& [key, used] : tally_.used_) {
      if (key.first != account) continue;
      row.login = key.second;
      row.proper = proper_name(key.second);
      print(row, used);
    }
  }
}

void Tally::Lines::accounts_and_qos() {
  for (const auto& [key, used] : tally_.used_) {
    Row row;
    row.account = key.first;
    row.qos = key.second;
    print(row, used);
  }
}

void Tally::Lines::users() {
  const ReportOptions& options = tally_.options_;
  std::vector<std::pair<Key, TresSeconds>> lines(tally_.used_.begin(), tally_.used_.end());
  if (options.report == Report::kTopUsage) {
    const auto i = static_cast<size_t>(tres_.front());
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const auto& left, const auto& right) { return left.second[i] > right.second[i]; });
    if (lines.size() > options.top_count) lines.resize(options.top_count);
  }
  const bool wckey_first = options.report == Report::kWckeyUtilizationByUser;
  const bool with_wckeys = wckey_first || options.report == Report::kUserUtilizationByWckey;
  for (const auto& [key, used] : lines) {
    Row row;
    row.login = wckey_first ? key.second : key.first;
    row.proper = proper_name(row.login);
    (with_wckeys ? row.wckey : row.account) = wckey_first ? key.first : key.second;
    print(row, used);
  }
}

// Of CPUs alone: they are what a reservation is charged for.
void Tally::Lines::reservations() {
  for (const Reserved& reserved : tally_.reserved_) {
    Row row;
    row.reservation = reserved.name;
    row.start = text::format_time(reserved.start);
    row.end = text::format_time(reserved.end);
    row.tres = kTresNames[static_cast<size_t>(Tres::kCpu)];
    row.total = tally_.overlap(reserved.start, reserved.end) * static_cast<double>(reserved.cpus);
    row.allocated = std::min(reserved.allocated, row.total);
    row.idle = row.total - row.allocated;
    print(row);
  }
}

Result<std::string> Tally::print(const ClusterSize& cluster) const {
  std::string out;
  if (!options_.no_header) out += report_heading(options_);
  if (reports_sizes(options_.report)) return out + print_sizes(cluster);

  auto columns = parse_print_format(std::span<const Field>(kFields),
                                    options_.format.empty() ? default_format(options_) : options_.format);
  if (!columns) return failure(" Unknown field '" + options_.format + "'");
  const bool both = options_.unit >= ReportUnit::kSecondsPercent;
  for (PrintColumn<Field>& column : *columns)
    if (both && column.field->fit == kSpill && column.width == column.field->width) column.width += 9;
  if (!options_.no_header) append_print_header<Field>(*columns, options_.layout, "|", out);

  Lines lines(*this, cluster, *columns, out);
  switch (options_.report) {
    case Report::kReservationUtilization:
      lines.reservations();
      break;
    case Report::kClusterUtilization:
      lines.cluster();
      break;
    case Report::kAccountUtilizationByUser:
      lines.accounts_and_users();
      break;
    case Report::kAccountUtilizationByQos:
      lines.accounts_and_qos();
      break;
    default:
      lines.users();
  }
  return out;
}

std::string Tally::print_sizes(const ClusterSize& cluster) const {
  std::string out;
  std::vector<std::pair<std::string, int>> columns = {
      {"Cluster", 9}, {options_.report == Report::kJobSizesByWckey ? "Wckey" : "Account", 9}};
  uint32_t from = 0;
  for (uint32_t size : options_.grouping) {
    columns.emplace_back(fmt::format("{}-{} CPUs", from, size == 0 ? 0 : size - 1), 13);
    from = size;
  }
  columns.emplace_back(fmt::format(">= {} CPUs", from), 13);
  columns.emplace_back("Total Count", 11);
  columns.emplace_back("% of cluster", 12);
  const auto print = [&](const std::vector<std::string>& values, PrintFit fit) {
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t start = out.size();
      out += values[i];
      if (options_.layout == PrintLayout::kFixed) {
        fit_print_value(out, start, columns[i].second, fit);
        out += ' ';
      } else if (options_.layout == PrintLayout::kParsable || i + 1 < values.size()) {
        out += '|';
      }
    }
    out += '\n';
  };
  if (!options_.no_header) {
    std::vector<std::string> titles, rules;
    for (const auto& [title, width] : columns) {
      titles.push_back(title);
      rules.emplace_back(static_cast<size_t>(width), '-');
    }
    print(titles, PrintFit::kCut);
    if (options_.layout == PrintLayout::kFixed) print(rules, PrintFit::kCut);
  }
  double total = 0;
  for (const auto& [name, sizes] : sizes_)
    for (double value : sizes.columns) total += value;
  for (const auto& [name, sizes] : sizes_) {
    std::vector<std::string> values = {cluster.name, name};
    double sum = 0;
    for (double value : sizes.columns) {
      sum += value;
      std::string text;
      if (options_.print_job_count) {
        text = fmt::format("{:.0f}", value);
      } else {
        append_amount(text, value, total, options_.unit);
      }
      values.push_back(std::move(text));
    }
    values.push_back(std::to_string(sizes.jobs));
    values.push_back(fmt::format("{:.2f}%", total == 0 ? 0 : 100 * sum / total));
    print(values, PrintFit::kSpill);
  }
  return out;
}

}  // namespace minke::view
