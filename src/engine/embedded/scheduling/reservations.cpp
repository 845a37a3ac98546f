#include "engine/embedded/scheduling/reservations.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "engine/embedded/accounts/accounts.h"
#include "engine/embedded/accounts/users.h"
#include "engine/embedded/core.h"
#include "engine/embedded/scheduling/nodes.h"
#include "engine/embedded/scheduling/world.h"
#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/lasting_state.pb.h"
#include "os/detached.h"
#include "os/helper_program.h"
#include "os/log.h"
#include "sched/request.h"
#include "store/loaded_rows.h"
#include "store/tables.h"
#include "text/hostlist.h"
#include "text/licenses.h"
#include "text/number.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int64_t kLookForJobs = 10;  // s between checks whether one with PURGE_COMP has jobs

bool contains(const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string_view name : text::split(list, ',')) names.emplace_back(name);
  return names;
}

bool overlap(const ReservationRecord& a, const ReservationRecord& b) {
  const sched::Hold one{.start = a.start_time(), .end = a.end_time(), .period = period_of(a)};
  const sched::Hold other{.start = b.start_time(), .end = b.end_time(), .period = period_of(b)};
  return sched::overlaps(one, b.start_time(), b.end_time()) ||
         sched::overlaps(other, a.start_time(), a.end_time());
}

}  // namespace

Reservations::Reservations(Core& core) : core_(core) {
  timer_ = core_.loop.make_timer([this] { advance(); });
}

void Reservations::restore(store::LoadedRows& rows) {
  records_ = rows.read(store::kReservations);
  for (const ReservedJob& choice : rows.read(store::kReservedJobs))
    chosen_[choice.job_id()] = choice.reservation();
  std::sort(records_.begin(), records_.end(), [](const auto& a, const auto& b) { return a.id() < b.id(); });
  for (const ReservationRecord& record : records_)
    if (!floats(record) && record.start_time() <= core_.now()) begun_[record.id()] = record.start_time();
}

bool Reservations::meets(const ReservationRecord& record, const ReservationRecord& other) const {
  return overlap(shown_at(record, core_.now()), shown_at(other, core_.now()));
}

void Reservations::keep(const ReservationRecord& record) {
  core_.committer.row_changed(store::kReservations.row(record));
}

void Reservations::remove(const std::string& name) {
  std::erase_if(records_, [&](const auto& record) { return record.name() == name; });
  core_.committer.row_changed(store::kReservations.no_row(name));
}

const ReservationRecord* Reservations::find(const std::string& names) const {
  for (const std::string& name : names_of(names)) {
    for (const ReservationRecord& record : records_) {
      if (record.name() == name) return &record;
    }
  }
  return nullptr;
}

ReservationRecord* Reservations::find_mutable(const std::string& name) {
  for (ReservationRecord& record : records_) {
    if (record.name() == name) return &record;
  }
  return nullptr;
}

ReservationRecord Reservations::shown_at(const ReservationRecord& record, int64_t now) const {
  ReservationRecord shown = record;
  if (floats(record)) {
    shown.set_start_time(now + record.start_time());
    shown.set_end_time(now + record.end_time());
  }
  return shown;
}

bool Reservations::is_active(const ReservationRecord& record) const {
  const int64_t now = floats(record) ? 0 : core_.now();
  return record.start_time() <= now && now < record.end_time();
}

const ReservationRecord* Reservations::holder_of(const std::string& node) const {
  const ReservationRecord* holder = nullptr;
  for (const ReservationRecord& record : records_) {
    const bool there = std::any_of(record.shares().begin(), record.shares().end(), [&](const auto& share) {
      return share.node() == node && share.cpus() == 0;
    });
    if (!there || !is_active(record)) continue;
    if (holder == nullptr || has_flag(record, "MAINT")) holder = &record;
  }
  return holder;
}

Status Reservations::admits(const JobSpec& spec, uint32_t uid) const {
  if (spec.reservation().empty()) return {};
  for (const std::string& name : names_of(spec.reservation())) {
    const ReservationRecord* record = find(name);
    if (record == nullptr) return failure("there is no reservation " + name, kReservationInvalid);
    if (const Status admitted = admits_to(*record, spec, uid); !admitted) return admitted;
  }
  return {};
}

Status Reservations::admits_to(const ReservationRecord& record, const JobSpec& spec, uint32_t uid) const {
  if (floats(record)) return failure("reservation " + record.name() + " never begins", kReservationAccess);
  const std::string user = core_.state.user_name(uid);
  const auto partitions =
      names_of(spec.partition().empty() ? core_.nodes->default_partition().name() : spec.partition());
  const bool in_partition = std::any_of(partitions.begin(), partitions.end(), [&](const std::string& one) {
    return contains(record.allowed_partitions(), one) || contains(record.allowed_partitions(), "-" + one);
  });
  const bool denies_partitions =
      !record.allowed_partitions().empty() && record.allowed_partitions(0).starts_with('-');
  // Each list that is given must admit it: it names those who may, or those who may not.
  const auto admits = [](const auto& list, bool denies, bool named) {
    return list.empty() || denies != named;
  };
  if (!admits(record.users(), record.users_denied(), contains(record.users(), user)) ||
      !admits(record.accounts(), record.accounts_denied(), contains(record.accounts(), spec.account())) ||
      !admits(record.qos(), record.qos_denied(), contains(record.qos(), spec.qos())) ||
      !admits(record.allowed_partitions(), denies_partitions, in_partition) ||
      (!record.groups().empty() && !is_in_group(uid, record.groups())))
    return failure("reservation " + record.name() + " is not for this user", kReservationAccess);
  return {};
}

Result<sched::HoldId> Reservations::hold_id(const JobSpec& spec) const {
  if (spec.reservation().empty()) return 0;
  const ReservationRecord* record = find(spec.reservation());
  if (record == nullptr) return failure("there is no reservation " + spec.reservation(), kReservationInvalid);
  return record->id();
}

Status Reservations::check_licenses(const ReservationRecord& record) const {
  const auto wanted = text::parse_licenses(record.licenses());
  if (!wanted) return failure(wanted.error().message, kInvalidLicenses);
  const sched::MachineLayout& layout = core_.world->machine().layout();
  for (const auto& [name, count] : *wanted) {
    const auto license = layout.find_license(name);
    if (!license) return failure("there is no license " + name, kInvalidLicenses);
    int64_t left = layout.licenses()[*license].count;
    for (const ReservationRecord& other : records_) {
      if (other.id() == record.id() || !meets(record, other)) continue;
      const auto theirs = text::parse_licenses(other.licenses());
      for (size_t i = 0; theirs && i < theirs->size(); ++i)
        if ((*theirs)[i].first == name) left -= (*theirs)[i].second;
    }
    if (left < int64_t{count})
      return failure("there are not so many licenses of " + name + " free then", kInvalidLicenses);
  }
  return {};
}

std::vector<Job*> Reservations::jobs_in(const std::string& reservation, bool running) const {
  std::vector<Job*> jobs;
  for (const auto& [id, job] : core_.state.jobs()) {
    if (running ? !job->holds_nodes() : job->state != JOB_PENDING) continue;
    const auto names = names_of(running ? name_for(*job) : job->submission->spec().reservation());
    if (std::find(names.begin(), names.end(), reservation) != names.end()) jobs.push_back(job.get());
  }
  return jobs;
}

Status Reservations::settle_times(const api::UpdateReservationRequest& request, ReservationRecord& record,
                                  int64_t start_before) const {
  if (record.end_time() <= record.start_time() || record.end_time() <= core_.now())
    return failure("it would end before it begins, or has ended", kInvalidTimeValue);
  constexpr int64_t kGrace = 2;  // s: "now" was earlier when the request was written
  if (record.start_time() != start_before && record.start_time() < core_.now() - kGrace)
    return failure("its start has passed", kInvalidTimeValue);
  if (!floats(record)) return {};
  if (std::any_of(request.fields().begin(), request.fields().end(), [](const api::Field& field) {
        return text::equals_ignoring_case(field.name(), "EndTime");
      }))
    return failure("one that floats has a Duration, and no EndTime", kNotSupported);
  return {};
}

Status Reservations::apply_fields(const api::UpdateReservationRequest& request, ReservationRecord& record,
                                  ReservationPlace& place) const {
  // Fields that are relative to the start are applied after it.
  std::vector<const api::Field*> fields;
  for (const api::Field& field : request.fields()) fields.push_back(&field);
  std::stable_partition(fields.begin(), fields.end(), [](const api::Field* field) {
    return text::equals_ignoring_case(field->name(), "StartTime") ||
           text::equals_ignoring_case(field->name(), "Flags");
  });
  for (const api::Field* field : fields) {
    if (const Status applied = apply_reservation_field(record, *field, core_.now(), place); !applied)
      return applied;
    for (std::string_view name : {"NodeCnt", "CoreCnt", "Nodes"})
      place.changed = place.changed || text::equals_ignoring_case(field->name(), name);
  }
  return {};
}

Status Reservations::set_flags(ReservationRecord& record, const char* flags) const {
  ReservationPlace place;
  api::Field field;
  field.set_name("Flags");
  field.set_value(flags);
  return apply_reservation_field(record, field, core_.now(), place);
}

Status Reservations::apply(const api::UpdateReservationRequest& request, ReservationRecord& record) const {
  ReservationPlace place;
  if (floats(record)) record = shown_at(record, core_.now());
  place.changed = record.shares().empty();
  const int64_t start_before = record.start_time();
  if (const Status applied = apply_fields(request, record, place); !applied) return applied;
  if (const Status agree = check_flags(record); !agree) return agree;
  if (const Status settled = settle_times(request, record, start_before); !settled) return settled;
  if (record.users().empty() && record.accounts().empty() && record.groups().empty() &&
      record.qos().empty() && record.allowed_partitions().empty())
    return failure("", kReservationEmpty);
  for (const std::string& qos : record.qos())
    if (core_.accounts->book().qos(qos) == nullptr) return failure("there is no QOS " + qos, kInvalidQos);
  for (const std::string& partition : record.allowed_partitions())
    if (core_.nodes->find_partition(partition.substr(partition.starts_with('-') ? 1 : 0)) == nullptr)
      return failure("there is no partition " + partition, kInvalidPartitionName);
  if (const Status licenses = check_licenses(record); !licenses) return licenses;
  return settle_place(place, record);
}

void Reservations::unfix_times(ReservationRecord& record) const {
  if (!floats(record)) return;
  record.set_start_time(std::max<int64_t>(0, record.start_time() - core_.now()));
  record.set_end_time(record.end_time() - core_.now());
}

Result<std::string> Reservations::create(const api::UpdateReservationRequest& request, uint32_t uid) {
  ReservationRecord record;
  for (const ReservationRecord& other : records_) record.set_id(std::max(record.id(), other.id()));
  record.set_id(record.id() + 1);
  record.set_name(request.name());
  if (find(request.name()) != nullptr) return failure("", kReservationNameDuplicate);
  if (request.name().find_first_of(", \t\n=") != std::string::npos)
    return failure("'" + request.name() + "' cannot be a reservation's name", kReservationInvalid);
  record.set_start_time(core_.now());
  if (const Status applied = apply(request, record); !applied) return failure(applied.error());
  unfix_times(record);
  if (record.name().empty()) {
    // As in Slurm: named after the first account or user, with a number.
    const std::string base = !record.accounts().empty() ? record.accounts(0)
                             : !record.users().empty()  ? record.users(0)
                                                        : core_.state.user_name(uid);
    for (uint32_t number = record.id(); record.name().empty() || find(record.name()) != nullptr; ++number)
      record.set_name(base + "_" + std::to_string(number));
  }
  const std::string name = record.name();
  keep(record);
  records_.push_back(std::move(record));
  return name;
}

Result<std::string> Reservations::change(const api::UpdateReservationRequest& request, uint32_t uid) {
  Result<std::string> name = request.name();
  if (request.change() == api::CREATE) {
    name = create(request, uid);
    if (!name) return name;
  } else {
    ReservationRecord* present = find_mutable(request.name());
    if (present == nullptr) return failure("there is no reservation " + request.name(), kReservationInvalid);
    if (request.change() == api::DELETE) {
      if (!jobs_in(request.name(), true).empty()) return failure("jobs run in it", kReservationBusy);
      remove(request.name());
    } else {
      ReservationRecord next = *present;
      if (const Status applied = apply(request, next); !applied) return failure(applied.error());
      if (floats(next) != floats(*present))
        return failure("whether it floats is said when it is created", kInvalidTimeValue);
      unfix_times(next);
      *present = std::move(next);
      keep(*present);
    }
  }
  core_.cluster_events.tell(&ClusterListener::layout_changed);
  advance();
  return name;
}

bool Reservations::is_given_up(const ReservationRecord& record) {
  const bool in_use = !jobs_in(record.name(), true).empty() || !jobs_in(record.name(), false).empty();
  if (!has_flag(record, "PURGE_COMP") || !is_active(record) || in_use) {
    idle_since_.erase(record.id());
    return false;
  }
  const int64_t since = idle_since_.try_emplace(record.id(), core_.now()).first->second;
  return core_.now() - since >= record.purge_seconds();
}

void Reservations::run_programs(const std::vector<std::string>& programs, const std::string& name) const {
  for (const std::string& program : programs) {
    os::log_info("reservation " + name + ": " + program);
    const auto started = os::start_detached(
        {.argv = os::helper_command(
             os::Helper::kTriggerProgram,
             {std::to_string(::geteuid()), std::to_string(::getegid()), program, name, core_.config.home}),
         .log_path = "/dev/null",
         .without_variables = {"SLURM_*"}});
    if (!started) os::log_error(program + " is not run: " + started.error().message);
  }
}

void Reservations::note_begin(const ReservationRecord& record) {
  if (floats(record) || !is_active(record)) return;
  int64_t& told = begun_[record.id()];
  if (std::exchange(told, record.start_time()) != record.start_time())
    run_programs(core_.config.prologs.resv_prolog, record.name());
}

void Reservations::advance() {
  const int64_t now = core_.now();
  std::vector<std::string> over;
  for (ReservationRecord& record : records_) {
    note_begin(record);
    if (!is_given_up(record) && (floats(record) || record.end_time() > now)) continue;
    idle_since_.erase(record.id());
    run_programs(core_.config.prologs.resv_epilog, record.name());
    const std::vector<Job*> running = jobs_in(record.name(), true);
    if (!has_flag(record, "FLEX")) {
      for (Job* job : running) core_.cluster_events.tell(&ClusterListener::reservation_ended, *job);
    }
    if (move_on(record, now)) {
      keep(record);
    } else {
      over.push_back(record.name());
    }
  }
  for (const std::string& name : over) remove(name);
  if (over.empty()) {
    core_.cluster_events.tell(&ClusterListener::holds_changed);
  } else {
    core_.cluster_events.tell(
        &ClusterListener::layout_changed);  // jobs that name it wait for something that is gone
  }
  int64_t next = 0;
  for (const ReservationRecord& record : records_) {
    if (floats(record)) continue;
    for (const int64_t time : {record.start_time(), record.end_time()}) {
      if (time > now && (next == 0 || time < next)) next = time;
    }
    if (!has_flag(record, "PURGE_COMP") || !is_active(record)) continue;
    const auto idle = idle_since_.find(record.id());
    const int64_t time = idle == idle_since_.end()
                             ? now + kLookForJobs
                             : std::min(now + kLookForJobs, idle->second + record.purge_seconds());
    next = std::min(next, time);
  }
  if (next == 0) return timer_->cancel();
  // The clock may be set meanwhile, so the timer fires after an hour at the latest.
  timer_->set_after(std::chrono::seconds(std::min<int64_t>(next - now, 3600)));
}

}  // namespace minke::engine
