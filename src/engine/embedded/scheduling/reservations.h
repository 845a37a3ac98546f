// Reservations: nodes, or CPUs of nodes, that operators keep for some users or
// accounts for some time. Durable.
//
// A record has the times of its current or next occurrence. A recurring reservation moves on when it ends;
// one that does not recur is removed when it has ended and none of its jobs runs. sched/holds.h tells the
// scheduler what they hold. A job that still runs when its reservation ends is stopped as at its time limit,
// except with FLEX. A reservation with TIME_FLOAT has its times as seconds from the moment at which one looks
// (shown_at() turns them into times). Owned by the state's thread.
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
  // `names` is a list with commas. Returns the first that exists; null: none does.
  const model::ReservationRecord* find(const std::string& names) const;
  // The reservation that holds the node now; null: none.
  const model::ReservationRecord* holder_of(const std::string& node) const;
  bool is_active(const model::ReservationRecord& record) const;

  // Creates, updates or deletes. Returns the reservation's name.
  Result<std::string> change(const api::UpdateReservationRequest& request, uint32_t uid);

  // Whether the user's job may use the reservation that it names.
  Status admits(const model::JobSpec& spec, uint32_t uid) const;
  // Whether the job's reservation has room for it. As in Slurm this is checked only if the reservation has
  // begun and the job could start at once.
  Status has_room(const model::JobSpec& spec) const;
  // The scheduler's id of the job's reservation; 0: it names none.
  Result<sched::HoldId> hold_id(const model::JobSpec& spec) const;
  // The reservations that the job may run in, at least one: those that it names, else 0 (none) and then
  // all that attract it (MAGNETIC).
  std::vector<sched::HoldId> choices(const model::JobSpec& spec, uint32_t uid) const;
  // The job has started in reservation `id`. If that attracted it, the job names it until it waits again. A
  // job that names several keeps doing so.
  void entered(Job& job, sched::HoldId id);
  void job_waits_again(Job& job) override;
  void job_ended(Job& job, bool ran) override;
  // The reservation of a running job; for any other job what it names, possibly several.
  std::string name_for(const Job& job) const;
  sched::Holds holds(const sched::MachineLayout& layout) const;

  // Carries out REPLACE and REPLACE_DOWN (reservation_replace.cpp). Call it when jobs have
  // started or nodes have changed.
  void replace_nodes();

  // Moves on ended reservations, and sets a timer for the next begin or end. Call it once
  // when everything has been loaded.
  void advance();

 private:
  model::ReservationRecord* find_mutable(const std::string& name);
  Result<std::string> create(const api::UpdateReservationRequest& request, uint32_t uid);
  // Applies the fields, and finds nodes if none are named. Completes the record.
  Status apply(const api::UpdateReservationRequest& request, model::ReservationRecord& record) const;
  Status apply_fields(const api::UpdateReservationRequest& request, model::ReservationRecord& record,
                      ReservationPlace& place) const;
  Status set_flags(model::ReservationRecord& record, const char* flags) const;
  Result<std::vector<std::string>> names_of_nodes(const std::string& nodes,
                                                  model::ReservationRecord& record) const;
  Status check_nodes(const model::ReservationRecord& record) const;
  Status settle_place(ReservationPlace place, model::ReservationRecord& record) const;
  Status settle_times(const api::UpdateReservationRequest& request, model::ReservationRecord& record,
                      int64_t start_before) const;
  void unfix_times(model::ReservationRecord& record) const;  // the opposite of shown_at()
  // `cores`: how many on each named node, one number each; empty: as CoreCnt says, or all.
  Status choose_nodes(const std::vector<std::string>& named, const std::vector<uint32_t>& cores,
                      model::ReservationRecord& record) const;
  Status take_named_nodes(const std::vector<std::string>& named, const std::vector<uint32_t>& cores,
                          model::ReservationRecord& record) const;
  Status find_nodes(model::ReservationRecord& record) const;
  // The CPUs that the reservation could have on the node beside other reservations and jobs. Fails if it
  // could have none, or if it wants whole nodes and could have only a part.
  bool meets(const model::ReservationRecord& record, const model::ReservationRecord& other) const;  // in time
  Result<uint32_t> cpus_of_others(const model::ReservationRecord& record,
                                  const model::NodeRecord& node) const;
  bool is_in_the_way(const Job& job, const model::ReservationRecord& record,
                     const model::NodeRecord& node) const;
  Result<uint32_t> free_cpus(const model::ReservationRecord& record, const model::NodeRecord& node) const;
  std::vector<uint32_t> free_gres(const model::ReservationRecord& record,
                                  const model::NodeRecord& node) const;
  Status check_gres(const model::ReservationRecord& record) const;
  // Whether a reservation for a number of nodes may have this one.
  bool serves(const model::ReservationRecord& record, const model::NodeRecord& node) const;
  // Whether other reservations leave enough licenses at that time.
  Status check_licenses(const model::ReservationRecord& record) const;
  Status admits_to(const model::ReservationRecord& record, const model::JobSpec& spec, uint32_t uid) const;
  void set_reservation(Job& job, const std::string& name);
  void choose(uint32_t job_id, const std::string& name);  // empty: it has none any more
  std::vector<Job*> jobs_in(const std::string& reservation, bool running) const;
  void keep(const model::ReservationRecord& record);
  // Whether a reservation with PURGE_COMP has had no jobs for as long as that says.
  bool is_given_up(const model::ReservationRecord& record);
  void remove(const std::string& name);
  // ResvProlog, ResvEpilog: with the reservation's name, and the daemon's rights.
  void run_programs(const std::vector<std::string>& programs, const std::string& name) const;
  void note_begin(const model::ReservationRecord& record);

  Core& core_;
  std::vector<model::ReservationRecord> records_;
  std::map<uint32_t, std::string> chosen_;  // by job, for running jobs that name several
  std::map<uint32_t, int64_t> idle_since_;  // by id, for reservations with PURGE_COMP
  std::map<uint32_t, int64_t> begun_;       // by id: the start for which ResvProlog has run
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

// The place of a reservation as the operator asked for it.
struct ReservationPlace {
  std::string nodes;            // Nodes
  std::vector<uint32_t> cores;  // CoreCnt=2,1: on each of `nodes`
  bool per_node = false;        // TRESPerNode: core_count and gpu_count are those of each node
  bool changed = false;         // whether these, or the number of nodes, are new
};

// Applies one NAME=VALUE of scontrol to the record. `place` gets the values of Nodes, of a list in
// CoreCnt, and whether numbers are those of each node. Pure, except that it looks up users.
Status apply_reservation_field(model::ReservationRecord& record, const api::Field& field, int64_t now,
                               ReservationPlace& place);
// Whether its flags can stand together.
Status check_flags(const model::ReservationRecord& record);
using sched::floats;
using sched::has_flag;
using sched::move_on;
using sched::period_of;

}  // namespace minke::engine
