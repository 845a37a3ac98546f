#include "config/setup_plan.h"

#include <algorithm>

#include "text/duration.h"
#include "text/printable.h"
#include "text/translate.h"

namespace minke::config {

using text::tr;

namespace {

bool is_name(const std::string& word) {
  return !word.empty() && word.size() <= 64 && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  }) && word[0] != '-';
}

// What can stand between quotes of TOML without an escape.
bool is_plain(const std::string& text) {
  return text.size() <= 200 && std::all_of(text.begin(), text.end(), [](char c) {
           return c > ' ' && c < 0x7f && c != '"' && c != '\\';
         });
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : ",").append(word);
  return out;
}

}  // namespace

Status check_answers(const SetupAnswers& answers) {
  const auto wrong = [](const std::string& what, const std::string& value) {
    return failure(what + ": \"" + text::printable(value) + "\"");
  };
  if (!is_name(answers.cluster))
    return wrong("no name of a cluster (letters, digits, - and _)", answers.cluster);
  if (!is_name(answers.account))
    return wrong("no name of an account (letters, digits, - and _)", answers.account);
  for (const std::string& user : answers.users)
    if (!is_name(user)) return wrong("no name of a user", user);
  const auto least = text::parse_minutes(answers.default_time), most = text::parse_minutes(answers.max_time);
  if (!least) return wrong("no time (write 1:00:00, or 2-0 for two days)", answers.default_time);
  if (!most) return wrong("no time (write 1:00:00, or 2-0 for two days)", answers.max_time);
  if (*least > *most) return wrong("the usual time limit is over the largest", answers.default_time);
  if (!is_plain(answers.mail_server) || !is_plain(answers.mail_domain))
    return wrong("no mail server", answers.mail_server);
  if (!answers.mail_server.empty() && !answers.mail_server.starts_with("smtp://") &&
      !answers.mail_server.starts_with("smtps://"))
    return wrong("a mail server begins with smtp:// or smtps://", answers.mail_server);
  if (!answers.mail_server.empty() && answers.mail_domain.empty())
    return failure("a mail server needs a domain, as example.org, for users' addresses");
  return {};
}

std::string memory_words(uint64_t mib) {
  return mib % 1024 == 0 ? std::to_string(mib / 1024) + "G" : std::to_string(mib) + "M";
}

std::string setup_configuration(const SetupAnswers& answers) {
  std::string out =
      "# Written by minke setup. minke man minke.toml tells all keys; scontrol reconfigure reads it again.\n"
      "cluster_name = \"" +
      answers.cluster +
      "\"\n"
      "\n"
      "[accounting]\n"
      "enforce = [\"associations\", \"limits\"]   # jobs need an account, and limits hold\n"
      "\n"
      "[priority]\n"
      "type = \"multifactor\"\n"
      "weight_fair_share = 100000  # who has used less goes first\n"
      "weight_age = 1000           # at equal use, who has waited longer\n"
      "half_life = \"7-0\"           # what was used a week ago counts half\n"
      "\n"
      "[[partition]]\n"
      "name = \"main\"\n"
      "default = true\n"
      "default_time = \"" +
      answers.default_time +
      "\"    # of jobs that name no time limit\n"
      "max_time = \"" +
      answers.max_time + "\"\n";
  if (answers.memory_per_cpu_mib > 0)
    out += "default_mem_per_cpu = \"" + memory_words(answers.memory_per_cpu_mib) +
           "\"   # of jobs that ask for no memory\n";
  if (!answers.mail_server.empty())
    out += "\n[mail]\nserver = \"" + answers.mail_server + "\"\nfrom = \"" + answers.cluster + "@" +
           answers.mail_domain + "\"\ndomain = \"" + answers.mail_domain + "\"\n";
  return out;
}

std::vector<std::vector<std::string>> setup_commands(const SetupAnswers& answers) {
  std::vector<std::vector<std::string>> out = {{"sacctmgr", "-i", "add", "account", answers.account}};
  if (answers.users.empty()) return out;
  const std::string users = joined(answers.users);
  out.push_back({"sacctmgr", "-i", "add", "user", users, "account=" + answers.account});
  std::vector<std::string> limits;
  if (answers.max_jobs > 0) limits.push_back("maxjobs=" + std::to_string(answers.max_jobs));
  if (answers.max_gpus > 0) limits.push_back("grptres=gres/gpu=" + std::to_string(answers.max_gpus));
  if (limits.empty()) return out;
  out.push_back({"sacctmgr", "-i", "modify", "user", users, "where", "account=" + answers.account, "set"});
  out.back().insert(out.back().end(), limits.begin(), limits.end());
  return out;
}

std::string setup_message(const SetupAnswers& answers) {
  std::string out =
      tr("The machine has a queue now. In a shell: eval \"$(minke env)\", or once for good: minke env "
         "--install\n"
         "  sbatch job.sh     submits a job; say what it needs, as --time=2:00:00 --mem=8G --gpus=1\n"
         "  minke jobs        shows yours; minke why JOB says why one waits, or how it ended\n"
         "  minke help        tells the rest\n") +
      tr("A job that names no time ends after {}; the longest may take {}.",
         {answers.default_time, answers.max_time}) +
      "\n";
  if (answers.memory_per_cpu_mib > 0)
    out += tr("A job that names no memory has {} for each processor.",
              {memory_words(answers.memory_per_cpu_mib)}) +
           "\n";
  if (answers.max_jobs > 0)
    out += tr("Each person runs {} jobs at a time at most.", {std::to_string(answers.max_jobs)}) + "\n";
  if (answers.max_gpus > 0)
    out += tr("Each person has {} GPUs at a time at most.", {std::to_string(answers.max_gpus)}) + "\n";
  if (!answers.mail_server.empty()) out += tr("--mail-type=END,FAIL has a message sent to you.") + "\n";
  return out + tr("Who has used less goes first. Run nothing long outside of jobs.") + "\n";
}

}  // namespace minke::config
