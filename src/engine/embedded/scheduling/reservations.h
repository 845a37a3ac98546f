// Reservations: nodes, or CPUs of nodes, that operators keep for some users or accounts for some time.
// Durable.
//
// A record's times are those of its present or next occurrence: a recurring one is moved on when it ends, one
// that does not recur leaves when it has ended and nothing runs in it any more. What the scheduler makes of
// them is in sched/holds.h. A job that still runs in a reservation when that ends is stopped, as if its time
// limit were over, but for reservations with FLEX. The times of one with TIME_FLOAT are kept as seconds from
// whenever one looks (shown_at makes them times). Owned by the state's thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/embedded/job_events.h"
#include "model/cluster.pb.h"
#include "os/event_loop.h"
#include "sched/holds.h"
#include "sched/layout.h"
#include "sched/reservation.h"

namespace minke::api {
class Field;
class UpdateReservationRequest;
}  // namespace minke::api

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;
struct Job;

struct ReservationPlace;

class Reservations : public JobListener {
 public:
  explicit Reservations(Core& core);

  void restore(store::LoadedRows& rows);
  const std::vector<model::ReservationRecord>& all() const { return records_; }
  model::ReservationRecord shown_at(const model::ReservationRecord& record, int64_t now) const;
  // Of several names, separated by commas, the first that there is; null: there is none.
  const model::ReservationRecord* find(const std::string& names) const;
  // The one that holds the node now; null: none does.
  const model::ReservationRecord* holder_of(const std::string& node) const;
  bool is_active(const model::ReservationRecord& record) const;

  // Creates, updates or deletes. The result is the reservation's name.
  Result<std::string> change(const api::UpdateReservationRequest& request, uint32_t uid);

  // Whether the job may name the reservation that it names.
  Status admits(const model::JobSpec& spec, uint32_t uid) const;
  // Whether the one that the job names has room for it, as Slurm sees it: it is asked of a reservation that
  // has begun, and of a job that could start at once.
  Status has_room(const model::JobSpec& spec) const;
  // As the scheduler knows the job's reservation; 0: it names none.
  Result<sched::HoldId> hold_id(const model::JobSpec& spec) const;
  // Those that the job may run in, at least one: what it names, or 0 for none and then all that draw it in
  // (MAGNETIC).
  std::vector<sched::HoldId> choices(const model::JobSpec& spec, uint32_t uid) const;
  // The job has started in one of these, and names one that has drawn it in until it waits again. One that
  // names several goes on doing so.
  void entered(Job& job, sched::HoldId id);
  void job_waits_again(Job& job) override;
  void job_ended(Job& job, bool ran) override;
  // The one that a running job is in; of another what it names, which may be several.
  std::string name_for(const Job& job) const;
  sched::Holds holds(const sched::MachineLayout& layout) const;

  // What REPLACE and REPLACE_DOWN ask for (reservation_replace.cpp). To be called when jobs have started, or
  // nodes have changed.
  void replace_nodes();

  // Moves on what has ended, and comes back at the next time at which something begins or ends. To be called
  // once, when all has been loaded.
  void advance();

 private:
  model::ReservationRecord* find_mutable(const std::string& name);
  Result<std::string> create(const api::UpdateReservationRequest& request, uint32_t uid);
  // Applies the fields, and finds nodes where none are named. The record is complete then.
  Status apply(const api::UpdateReservationRequest& request, model::ReservationRecord& record) const;
  Status apply_fields(const api::UpdateReservationRequest& request, model::ReservationRecord& record,
                      ReservationPlace& place) const;
  Status set_flags(model::ReservationRecord& record, const char* flags) const;
  Result<std::vector<std::string>> names_of_nodes(const std::string& nodes,
                                                  model::ReservationRecord& record) const;
  Status check_nodes(const model::ReservationRecord& record) const;
  Status settle_place(const ReservationPlace& place, model::ReservationRecord& record) const;
  Status settle_times(const api::UpdateReservationRequest& request, model::ReservationRecord& record,
                      int64_t start_before) const;
  void unfix_times(model::ReservationRecord& record) const;  // the opposite of shown_at()
  // `cores`: of each of the nodes that are named, as many as there are; empty: what CoreCnt says, or all.
  Status choose_nodes(const std::vector<std::string>& named, const std::vector<uint32_t>& cores,
                      model::ReservationRecord& record) const;
  Status take_named_nodes(const std::vector<std::string>& named, const std::vector<uint32_t>& cores,
                          model::ReservationRecord& record) const;
  Status find_nodes(model::ReservationRecord& record) const;
  // CPUs that the reservation could have there beside other reservations and jobs; fails where it could have
  // none, and where it wants whole nodes and could have only some.
  bool meets(const model::ReservationRecord& record, const model::ReservationRecord& other) const;  // in time
  Result<uint32_t> cpus_of_others(const model::ReservationRecord& record,
                                  const model::NodeRecord& node) const;
  bool is_in_the_way(const Job& job, const model::ReservationRecord& record,
                     const model::NodeRecord& node) const;
  Result<uint32_t> free_cpus(const model::ReservationRecord& record, const model::NodeRecord& node) const;
  // Whether a reservation of so many nodes may have this one.
  bool serves(const model::ReservationRecord& record, const model::NodeRecord& node) const;
  // Whether there are so many licenses beside those of other reservations at that time.
  Status check_licenses(const model::ReservationRecord& record) const;
  Status admits_to(const model::ReservationRecord& record, const model::JobSpec& spec, uint32_t uid) const;
  void set_reservation(Job& job, const std::string& name);
  void choose(uint32_t job_id, const std::string& name);  // empty: none any more
  std::vector<Job*> jobs_in(const std::string& reservation, bool running) const;
  void keep(const model::ReservationRecord& record);
  // Whether one with PURGE_COMP has been without jobs for as long as that says.
  bool is_given_up(const model::ReservationRecord& record);
  void remove(const std::string& name);

  Core& core_;
  std::vector<model::ReservationRecord> records_;
  std::map<uint32_t, std::string> chosen_;  // by job, of those that name several and run
  std::map<uint32_t, int64_t> idle_since_;  // by id, of those with PURGE_COMP
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

// Where a reservation is to be, as it was asked for.
struct ReservationPlace {
  std::string nodes;            // Nodes
  std::vector<uint32_t> cores;  // CoreCnt=2,1: of each of them
  bool changed = false;         // anything of that, or how many they are
};

// One NAME=VALUE of scontrol applied to the record; of Nodes, and of a list in CoreCnt, `place` receives the
// value. Pure, but for looking up users.
Status apply_reservation_field(model::ReservationRecord& record, const api::Field& field, int64_t now,
                               ReservationPlace& place);
using sched::floats;
using sched::has_flag;
using sched::move_on;
using sched::period_of;

}  // namespace minke::engine
