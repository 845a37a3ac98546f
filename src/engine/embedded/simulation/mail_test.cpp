// Mail: who is told of which event, and the queue of unsent messages.
#include "engine/embedded/watching/mail.h"

#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "engine/embedded/simulation/programs.h"
#include "engine/embedded/simulation/request_test.h"
#include "model/job_terms.pb.h"

namespace minke::engine::simulation {
namespace {

using namespace model;

class MailTest : public RequestTest {
 protected:
  void start_mailing(const std::string& more = "") {
    start("", "[mail]\nserver = \"smtp://mail\"\n" + more);
    got_.clear();
  }
  uint32_t submit_telling(const std::string& types, const Change& more = nullptr) {
    return submit(kAlice, [&](JobSpec& spec) {
      spec.set_mail_type(types);
      spec.set_mail_user("a@b.org");
      spec.set_time_limit_minutes(100);
      if (more) more(spec);
    });
  }
  void requeue(uint32_t job) {
    rpc::RequestEnvelope message;
    message.body<api::RequeueRequest>().add_jobs()->set_job_id(job);
    EXPECT_EQ(outcome(kAlice, message), 0u) << what_was_said();
    engine().pass(10);
  }
  std::vector<MailEvent> events() const {
    std::vector<MailEvent> found;
    for (const MailMessage& message : got_) found.push_back(message.event());
    return found;
  }
  size_t waiting() { return core().mail->waiting(); }

  // What the mailer says of each message: "sent", "refused …", "later …"; empty: it ends without a word.
  std::string answer_ = "sent";
  bool busy_ = false;  // it says nothing yet
  std::vector<MailMessage> got_;
  std::vector<int> batches_;  // their sizes
  os::UniqueFd mailer_;       // of the one that is busy
  std::string said_;

 private:
  Result<os::UniqueFd> mail(const os::DetachedCommand& command) {
    if (command.argv.at(1) != "mailer") return failure("not in this test");
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    os::UniqueFd output(ends[0]), mailer(ends[1]);
    std::string bytes(1 << 16, '\0');
    const ssize_t size = ::pread(command.input, bytes.data(), bytes.size(), 0);
    MailBatch batch;
    EXPECT_TRUE(batch.ParseFromArray(bytes.data(), static_cast<int>(size)));
    batches_.push_back(batch.messages_size());
    std::string said;
    for (const MailMessage& message : batch.messages()) {
      got_.push_back(message);
      if (!answer_.empty()) said += std::to_string(message.id()) + " " + answer_ + "\n";
    }
    if (busy_) {
      mailer_ = std::move(mailer);
      said_ = said;
    } else {
      EXPECT_EQ(::write(mailer.get(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
    }
    return output;
  }
  StandInForPrograms programs_{[this](const os::DetachedCommand& command) { return mail(command); }};
};

enum Life { kCompletes, kFails, kCancelled, kNeverRan, kRequeued, kTimesOut };
struct Told {
  const char* types;
  Life life;
  std::vector<MailEvent> events;
};

TEST_F(MailTest, OfWhatOneAskedFor) {
  const Told rows[] = {
      {"NONE", kFails, {}},
      {"BEGIN", kCompletes, {MAIL_BEGIN}},
      {"BEGIN", kNeverRan, {}},
      {"END", kCompletes, {MAIL_END}},
      {"END", kFails, {MAIL_END}},  // as with Slurm, that is an end, too
      {"END", kCancelled, {MAIL_END}},
      {"FAIL", kCompletes, {}},
      {"FAIL", kFails, {MAIL_FAIL}},
      {"FAIL", kCancelled, {}},
      {"FAIL", kTimesOut, {MAIL_FAIL}},
      {"END,FAIL", kFails, {MAIL_FAIL}},
      {"REQUEUE", kCompletes, {}},
      {"BEGIN,REQUEUE", kRequeued, {MAIL_BEGIN, MAIL_REQUEUE, MAIL_BEGIN}},
      {"ALL", kCompletes, {MAIL_BEGIN, MAIL_END}},
      {"TIME_LIMIT", kCompletes, {}},
      {"TIME_LIMIT", kTimesOut, {MAIL_TIME_LIMIT}},
  };
  for (const Told& row : rows) {
    SCOPED_TRACE(std::string(row.types) + " " + std::to_string(row.life));
    start_mailing();
    const uint32_t job =
        submit_telling(row.types, [&](JobSpec& spec) { spec.set_hold(row.life == kNeverRan); });
    engine().pass(1);
    if (row.life == kCompletes) engine().end_one(0, 0);
    if (row.life == kFails) engine().end_one(0, 1 << 8);
    if (row.life == kCancelled || row.life == kNeverRan) {
      EXPECT_EQ(outcome(kAlice, cancel(job)), 0u);
    }
    if (row.life == kRequeued) requeue(job);
    if (row.life == kTimesOut) engine().pass(100 * 60);
    engine().pass(5);
    EXPECT_EQ(events(), row.events);
    EXPECT_EQ(waiting(), 0u);
    for (const MailMessage& message : got_) {
      EXPECT_EQ(message.job_id(), job);
      EXPECT_EQ(message.to(), "a@b.org");
      EXPECT_EQ(message.uid(), kAlice);
    }
  }
}

TEST_F(MailTest, PartsOfTheTimeLimitAreToldOfOnce) {
  start_mailing();
  (void)submit_telling("TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90");
  std::vector<uint32_t> percents;
  const auto pass = [&](int minutes) {
    engine().pass(minutes * 60);
    percents.clear();
    for (const MailMessage& message : got_) percents.push_back(message.percent());
  };
  pass(49);
  EXPECT_EQ(percents, std::vector<uint32_t>());
  pass(2);
  EXPECT_EQ(percents, std::vector<uint32_t>{50});
  pass(40);  // two of them at once
  EXPECT_EQ(percents, (std::vector<uint32_t>{50, 90}));
  pass(20);
  EXPECT_EQ(percents, (std::vector<uint32_t>{50, 90}));
}

TEST_F(MailTest, AnArrayIsOneJobUnlessItsTasksAreAskedFor) {
  const auto array = [](JobSpec& spec) {
    IndexRange& range = *spec.mutable_array()->add_ranges();
    range.set_first(1);
    range.set_last(3);
  };
  start_mailing();
  const uint32_t job = submit_telling("BEGIN,END,FAIL", array);
  engine().end_one(0, 0);
  engine().end_one(0, 3 << 8);
  EXPECT_EQ(events(), std::vector<MailEvent>{MAIL_BEGIN});
  engine().end_one(0, 0);
  EXPECT_EQ(events(), (std::vector<MailEvent>{MAIL_BEGIN, MAIL_FAIL}));
  EXPECT_TRUE(got_.back().whole_array());
  EXPECT_EQ(got_.back().job_id(), job);
  EXPECT_EQ(got_.back().tasks_ended(), 3u);
  EXPECT_EQ(got_.back().tasks_succeeded(), 2u);
  EXPECT_EQ(got_.back().highest_exit(), 3 << 8);
  start_mailing();
  (void)submit_telling("END,FAIL,ARRAY_TASKS", array);
  for (const int status : {0, 3 << 8, 0}) engine().end_one(0, status);
  EXPECT_EQ(events(), (std::vector<MailEvent>{MAIL_END, MAIL_FAIL, MAIL_END}));
  EXPECT_FALSE(got_.back().whole_array());
}

TEST_F(MailTest, OfADependencyThatCannotComeTrue) {
  start_mailing();
  const uint32_t first = submit(kAlice);
  (void)submit_telling("INVALID_DEPEND", [&](JobSpec& spec) {
    Dependency& term = *spec.add_dependencies();
    term.set_type(AFTER_OK);
    term.set_job_id(first);
  });
  engine().end_one(0, 1 << 8);
  engine().pass(5);
  EXPECT_EQ(events(), std::vector<MailEvent>{MAIL_INVALID_DEPEND});
}

TEST_F(MailTest, ItIsTriedAgainEachTimeAfterTwiceAsLongAndGivenUpInTheEnd) {
  start_mailing("retry = 60\ngive_up = 1\n");
  answer_ = "later the server is down";
  (void)submit_telling("BEGIN");
  EXPECT_EQ(got_.size(), 1u);
  size_t tries = 1;
  for (const int wait : {60, 120, 240, 480, 960, 1920}) {
    engine().pass(wait - 1);
    EXPECT_EQ(got_.size(), tries) << wait;
    engine().pass(1);
    EXPECT_EQ(got_.size(), ++tries) << wait;
  }
  EXPECT_EQ(got_.front().id(), got_.back().id());
  EXPECT_EQ(waiting(), 0u);  // an hour is over
  engine().pass(100000);
  EXPECT_EQ(got_.size(), tries);
}

TEST_F(MailTest, WhatIsRefusedIsNotTriedAgain) {
  start_mailing();
  answer_ = "refused no such user";
  (void)submit_telling("BEGIN");
  engine().pass(100000);
  EXPECT_EQ(got_.size(), 1u);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(MailTest, AMailerThatEndsTooEarlyLosesNothing) {
  start_mailing();
  answer_ = "";
  (void)submit_telling("BEGIN");
  EXPECT_EQ(waiting(), 1u);
  answer_ = "sent";
  engine().pass(60);
  EXPECT_EQ(got_.size(), 2u);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(MailTest, OneMailerAtATimeAndWhatComesMeanwhileGoesInTheNextBatch) {
  start_mailing();
  busy_ = true;
  (void)submit_telling("BEGIN");
  for (int i = 0; i < 60; ++i) (void)submit_telling("BEGIN");
  EXPECT_EQ(batches_, std::vector<int>{1});
  busy_ = false;
  const size_t begun = waiting();
  ASSERT_GT(begun, 1u);
  EXPECT_EQ(::write(mailer_.get(), said_.data(), said_.size()), static_cast<ssize_t>(said_.size()));
  mailer_.reset();
  engine().settle();
  EXPECT_EQ(waiting(), 0u);
  EXPECT_EQ(got_.size(), begun);
}

TEST_F(MailTest, WhatWaitedIsSentByTheNextDaemon) {
  start_mailing();
  answer_ = "later";
  (void)submit_telling("BEGIN");
  const uint64_t id = got_.at(0).id();
  answer_ = "sent";
  restart();
  engine().pass(60);
  EXPECT_EQ(waiting(), 0u);
  std::multiset<uint64_t> ids;
  for (const MailMessage& message : got_) ids.insert(message.id());
  EXPECT_EQ(ids.count(id), 2u);
  const uint64_t last = *ids.rbegin();
  (void)submit_telling("BEGIN");
  EXPECT_GT(got_.back().id(), last);  // no number twice
}

TEST_F(MailTest, BeyondSoManyInAnHourThereIsOneForAllOfThem) {
  start_mailing("max_per_hour = 3\n");
  for (int i = 0; i < 8; ++i) (void)submit_telling("BEGIN");
  EXPECT_EQ(events(), std::vector<MailEvent>(3, MAIL_BEGIN));
  engine().pass(3599);
  EXPECT_EQ(got_.size(), 3u);
  engine().pass(1);
  ASSERT_EQ(got_.size(), 4u);
  EXPECT_EQ(got_.back().event(), MAIL_SUPPRESSED);
  EXPECT_EQ(got_.back().count(), 5u);
  EXPECT_EQ(got_.back().to(), "a@b.org");
  (void)submit_telling("BEGIN");
  EXPECT_EQ(events().back(), MAIL_BEGIN);  // the next hour has begun
}

TEST_F(MailTest, WhoNamesNobodyIsToldUnderHisName) {
  start_mailing("domain = \"lab.org\"\n");
  const auto nobody = [](JobSpec& spec) { spec.clear_mail_user(); };
  const uint32_t job = submit_telling("BEGIN", nobody);
  ASSERT_EQ(got_.size(), 1u);
  EXPECT_EQ(got_[0].to(), std::to_string(kAlice) + "@lab.org");
  EXPECT_EQ(shown(job).spec().mail_user(), got_[0].to());
}

}  // namespace
}  // namespace minke::engine::simulation
