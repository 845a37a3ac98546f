#include "cli/setup.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "cli/complain.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "os/program_output.h"
#include "os/this_program.h"
#include "text/list.h"
#include "text/memory.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/translate.h"
#include "view/output.h"

namespace minke::cli {

using text::tr;

namespace {

// Asks a person; an empty answer, and no person, is the proposal.
std::string ask(const std::string& question, const std::string& proposal, bool asks) {
  if (!asks) return proposal;
  std::printf("%s [%s]: ", question.c_str(), proposal.empty() ? tr("none").c_str() : proposal.c_str());
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) return proposal;
  const std::string answer(text::trim(line));
  return answer.empty() ? proposal : answer;
}

bool is_yes(const std::string& answer) {
  return answer == "yes" || answer == tr("yes");
}

// A processor's share of the machine's memory, a tenth left for the system; MiB, in steps of 256.
uint64_t share_of_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE),
             cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (pages <= 0 || size <= 0 || cpus <= 0) return 1024;
  const uint64_t mib = static_cast<uint64_t>(pages) / (1 << 20) * static_cast<uint64_t>(size) +
                       static_cast<uint64_t>(pages) % (1 << 20) * static_cast<uint64_t>(size) / (1 << 20);
  return std::max<uint64_t>(256, mib * 9 / 10 / static_cast<uint64_t>(cpus) / 256 * 256);
}

std::string host() {
  char name[256] = "minke";
  ::gethostname(name, sizeof name - 1);
  std::string out(name);
  return out.substr(0, out.find('.'));
}

// The five questions, less those that options have answered.
Status ask_all(SetupOptions& options, bool asks) {
  config::SetupAnswers& answers = options.answers;
  answers.cluster =
      options.given_cluster ? answers.cluster : ask(tr("1. What is the cluster called?"), host(), asks);
  if (!options.given_users) options.users = ask(tr("2. Who uses it? Logins, with commas"), "", asks);
  if (!options.given_times) {
    answers.max_time = ask(tr("3. How long may a job take at most?"), answers.max_time, asks);
    answers.default_time = ask(tr("   And if it names no time?"), answers.default_time, asks);
  }
  if (!options.given_memory)
    options.memory_per_cpu = ask(tr("4. How much memory for each processor has a job that names none?"),
                                 config::memory_words(share_of_memory()), asks);
  if (!options.given_mail) answers.mail_server = ask(tr("5. Which mail server? smtp://HOST:PORT"), "", asks);
  if (options.users == "none" || options.users == tr("none")) options.users.clear();
  if (answers.mail_server == "none" || answers.mail_server == tr("none")) answers.mail_server.clear();
  if (!answers.mail_server.empty() && answers.mail_domain.empty())
    answers.mail_domain = ask(tr("   Which domain have the users' addresses?"), "", asks);
  answers.users = text::split_list(options.users);
  const auto memory = text::parse_mib(options.memory_per_cpu);
  if (!memory)
    return failure(tr("no size (write 2G, or 500M): \"{}\"", {text::printable(options.memory_per_cpu)}));
  answers.memory_per_cpu_mib = *memory;
  return config::check_answers(answers);
}

std::string shown(const std::vector<std::string>& words) {
  std::string line = " ";
  for (const std::string& word : words) line += " " + word;  // they need no quotes: check_answers()
  return line + "\n";
}

// Runs a command of this program; what it says is part of an error.
Status run(const std::string& program, const std::vector<std::string>& words) {
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), words.begin(), words.end());
  auto started = os::ProgramOutput::start(argv);
  if (!started) return failure(started.error());
  std::string said;
  char buffer[4096];
  for (;;) {
    const auto got = started->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    said.append(buffer, *got);
  }
  const auto ended = started->finish();
  if (!ended) return failure(ended.error());
  if (ended->exit_code == 0) return {};
  return failure(words.front() + ": " + text::printable_lines(said + ended->complaint));
}

// Changes nothing that is there already: sacctmgr fails where an account or a user is.
bool is_there_already(const Error& error) {
  return error.message.find("already exist") != std::string::npos ||
         error.message.find("Request didn't affect anything") != std::string::npos ||
         error.message.find("Already existing") != std::string::npos;
}

Status write_configuration(const std::string& path, const std::string& text, bool replace) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !replace)
    return failure(tr("{0} is there already; --replace keeps it as {0}.before and writes a new one", {path}));
  if (exists && ::rename(path.c_str(), (path + ".before").c_str()) != 0)
    return failure_from_errno(path, errno);
  return os::replace_file(path, text, 0644);
}

void tell_of_missing_logins(const config::SetupAnswers& answers) {
  for (const std::string& user : answers.users)
    if (::getpwnam(user.c_str()) == nullptr)
      std::fprintf(stderr, "minke: note: %s\n",
                   tr("the machine has no login {0} yet: adduser {0}", {user}).c_str());
}

Status carry_out(const std::string& path, const std::string& text, const SetupOptions& options) {
  const auto program = os::this_program();
  if (!program) return failure(program.error());
  if (const Status written = write_configuration(path, text, options.replace); !written) return written;
  std::vector<std::string> up = {"up"};
  if (::geteuid() == 0) up.emplace_back("--shared");
  if (const Status started = run(*program, up); !started) return started;
  if (const Status read = run(*program, {"scontrol", "reconfigure"}); !read) return read;
  for (const std::vector<std::string>& words : config::setup_commands(options.answers))
    if (const Status done = run(*program, words); !done && !is_there_already(done.error())) return done;
  return {};
}

}  // namespace

int setup(SetupOptions options) {
  const bool asks = !options.yes && ::isatty(STDIN_FILENO) == 1;
  // Root's is for all users of the machine, whatever is marked so yet.
  const bool shared = ::geteuid() == 0 && std::getenv("MINKE_HOME") == nullptr;
  const auto home = shared ? Result<std::string>(std::string(os::kSharedHome)) : os::minke_home();
  if (!home) return complain(home.error());
  const char* named = std::getenv("MINKE_CONFIG");
  const std::string path = named != nullptr && *named != '\0' ? named
                           : shared                           ? "/etc/minke.toml"
                                                              : *home + "/minke.toml";
  if (const Status answered = ask_all(options, asks); !answered) return complain(answered.error());
  const std::string text = config::setup_configuration(options.answers);
  std::string plan = "\n" + tr("This will be written to {}:", {path}) + "\n\n" + text + "\n" +
                     tr("These commands will be run:") + "\n\n  minke up" +
                     (::geteuid() == 0 ? " --shared" : "") + "\n  scontrol reconfigure\n";
  for (const auto& words : config::setup_commands(options.answers)) plan += shown(words);
  view::write_out(plan + "\n");
  tell_of_missing_logins(options.answers);
  if (options.only_show) return 0;
  if (!options.yes && (!asks || !is_yes(ask(tr("Do it?"), tr("no"), asks)))) {
    std::printf("%s\n", (asks ? tr("Nothing was done. Answer yes to have it done.")
                              : tr("Nothing was done. --yes has it done."))
                            .c_str());
    return asks ? 0 : 1;
  }
  if (const Status done = carry_out(path, text, options); !done) return complain(done.error());
  view::write_out(tr("Done. Tell your users:") + "\n\n" + config::setup_message(options.answers));
  if (::geteuid() == 0)
    std::printf(
        "\n%s\n",
        tr("To start it with the machine: minke up --print-units. For all shells: minke env --install")
            .c_str());
  return 0;
}

}  // namespace minke::cli
