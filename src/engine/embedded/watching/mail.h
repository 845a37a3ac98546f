// Mail: messages about jobs. It decides who is told of which event, keeps a durable queue of unsent
// messages, and sends them, with retries.
//
// Invariants: a message is stored in the same commit as its event. It is removed when a mail server
// has taken it or refused it for good, or when the time for retries is over. If the daemon dies
// between sending and that commit, the message may arrive twice, with the same Message-ID. `minke
// mailer` sends; at most one runs, and nothing here waits for it. For jobs without mail the cost is
// the test of one bit. State's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "engine/embedded/job_events.h"
#include "model/mail.pb.h"
#include "os/event_loop.h"
#include "os/fd.h"

namespace minke::model {
class JobSpec;
}  // namespace minke::model

namespace minke::store {
class LoadedRows;
}  // namespace minke::store

namespace minke::engine {

struct Core;

class Mail : public JobListener {
 public:
  explicit Mail(Core& core);
  ~Mail() override;

  // Restores unsent messages from the store's settings.
  void restore(store::LoadedRows& rows);

  void job_started(Job& job, Start) override {
    if (wanted(job, text::kMailBegin)) job_began(job);
  }
  void job_requeued(Job& job) override {
    if (!job.submission->cron.empty()) return job_ended(job, true);  // that was one of its runs
    if (wanted(job, text::kMailRequeue)) add(job, model::MAIL_REQUEUE);
  }
  void job_ended(Job& job, bool) override {
    if (wanted(job, text::kMailEnd | text::kMailFail)) add_end(job);
  }
  void never_starts(const Job& job) {
    if (wanted(job, text::kMailInvalidDepend)) add(job, model::MAIL_INVALID_DEPEND);
  }
  // The time (s since the epoch; 0: none) at which the running job reaches the next part of its time limit
  // for which mail is sent, and the call at that time.
  int64_t next_mark(const Job& job) const override;
  void mark_reached(Job& job) override;

  // Fills in the default address of the job's mail if there is a mail domain: scontrol shows it.
  void complete_address(model::JobSpec& spec, uint32_t uid) const;

  bool configured() const;
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Sending;  // the batch that a mailer is sending
  struct Hour {    // messages to one user
    int64_t begin = 0;
    uint32_t messages = 0;
    uint64_t suppressed = 0;
    model::MailMessage last;  // the last suppressed message
  };

  bool wanted(const Job& job, int types) const {
    return (job.submission->mail_types & types) != 0 && configured();
  }
  void job_began(const Job& job);
  void add_end(const Job& job);
  model::MailMessage message_about(const Job& job, model::MailEvent event) const;
  void add(const Job& job, model::MailEvent event);
  void add(model::MailMessage message);  // to each kind of address apart
  void add_one(model::MailMessage message);
  bool within_limit(const model::MailMessage& message);
  void tell_suppressed();
  void store(const model::MailMessage& message);
  void forget(uint64_t id);
  void send();
  Status start_mailer(const model::MailBatch& batch);
  void on_report();
  void report(const std::string& line);
  void try_later(model::MailMessage& message, const std::string& reason);
  void set_timer();

  Core& core_;
  std::map<uint64_t, model::MailMessage> waiting_;  // durable; by id, in the order of the events
  std::unordered_map<uint32_t, Hour> hours_;        // by uid
  uint64_t next_id_ = 1;
  std::unique_ptr<Sending> sending_;
  std::unique_ptr<os::EventLoop::Timer> timer_;
};

}  // namespace minke::engine
