// The text of a message about a job. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/accounting.pb.h"
#include "base/result.h"
#include "model/mail.pb.h"

namespace minke::helpers {

struct MailContents {
  model::MailMessage message;
  model::MailSettings settings;
  api::AccountedJob job;                  // the run that it is about; job id 0: the record has none
  std::vector<std::string> failed_tasks;  // for an array: "12_3 FAILED, exit code 1"
  uint64_t more_failed_tasks = 0;
  std::string log_path;  // of the job's output; empty: not to be shown
  std::string log;       // its end
  std::string host;      // where this runs
  int64_t now = 0;       // s since the epoch
};

// As Slurm's: "Slurm Job_id=12 Name=train Ended, Run time 00:10:00, COMPLETED, ExitCode 0".
std::string mail_subject(const MailContents& contents);
std::string mail_body(const MailContents& contents);

struct ReadyMail {
  std::string from;  // an address
  std::vector<std::string> to;
  std::string text;                      // head and body, lines ended by CRLF
  std::string subject, body;             // the same, for a program that makes its own head
  std::vector<std::string> environment;  // and Slurm's variables for such a program: "SLURM_JOB_ID=12"
};
// Fails on a text that is no address.
Result<ReadyMail> compose_mail(const MailContents& contents);

// Returns the last `lines` lines of `log` as a person would have seen them: without text that a progress bar
// overwrote, and without colours; long lines are cut.
std::string last_lines(std::string_view log, size_t lines);

}  // namespace minke::helpers
