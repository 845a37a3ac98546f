#include "helpers/mail/send.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "helpers/mail/curl_library.h"
#include "helpers/mail/mime.h"
#include "model/mail.pb.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/pipe.h"

extern char** environ;

namespace minke::helpers {

namespace {

using Clock = std::chrono::steady_clock;

DeliveryOutcome later(const std::string& reason) {
  return {Delivery::kLater, header_text(reason)};
}
DeliveryOutcome refused(const std::string& reason) {
  return {Delivery::kRefused, header_text(reason)};
}

// ---- programs: the system's sendmail, Slurm's MailProg
// ------------------------------------------------------------------------

// Ignores input that the reader does not take: its exit code says why.
void write_all(int fd, std::string_view text, Clock::time_point deadline) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  while (!text.empty() && Clock::now() < deadline) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, 100);
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

// Returns this process's environment, with the user's home if there is one: programs look for settings there.
std::vector<std::string> program_environment(std::vector<std::string> own,
                                             const std::optional<os::Rights>& rights) {
  const passwd* user = rights ? ::getpwuid(rights->uid) : nullptr;
  const auto is_of_user = [&](std::string_view line) {
    return rights && (line.starts_with("HOME=") || line.starts_with("USER=") || line.starts_with("LOGNAME="));
  };
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!is_of_user(*variable)) own.emplace_back(*variable);
  if (user != nullptr)
    for (const auto& [name, value] : {std::pair{"HOME=", user->pw_dir}, std::pair{"USER=", user->pw_name},
                                      std::pair{"LOGNAME=", user->pw_name}})
      own.push_back(std::string(name) + value);
  return own;
}

// Its exit code tells the result.
DeliveryOutcome run_program(std::vector<std::string> words, std::vector<std::string> environment,
                            std::string_view input, const std::optional<os::Rights>& rights,
                            std::chrono::seconds timeout) {
  auto pipe = os::make_pipe();
  if (!pipe) return later(pipe.error().message);
  auto& [reader, writer] = *pipe;
  const std::string program = words.front();
  environment = program_environment(std::move(environment), rights);
  const std::vector<char*> arguments = pointers(words), variables = pointers(environment);
  constexpr int kNotRun = 125;
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return later("fork: " + std::string(std::strerror(errno)));
  if (pid == 0) {
    ::setpgid(0, 0);
    // Its output is for the log: this process's own output reports the results to the daemon.
    if (::dup2(reader.get(), STDIN_FILENO) < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) ::_exit(kNotRun);
    ::close_range(3, ~0U, 0);
    if (!os::become_in_child(rights, self)) ::_exit(kNotRun);
    std::signal(SIGPIPE, SIG_DFL);
    ::execve(arguments[0], arguments.data(), variables.data());
    ::_exit(kNotRun);
  }
  ::setpgid(pid, pid);
  reader.reset();
  const auto deadline = Clock::now() + timeout;
  write_all(writer.get(), input, deadline);
  writer.reset();
  const auto code = os::wait_or_kill(pid, deadline);
  if (!code) return later(program + " took too long");
  if (*code == 0) return {Delivery::kSent, {}};
  if (*code == kNotRun) return later(program + " cannot be run");
  const std::string reason =
      program + " ended with " + (*code > 128 ? "a signal" : "code " + std::to_string(*code));
  const bool for_good = *code == EX_NOUSER || *code == EX_NOHOST || *code == EX_DATAERR;
  return for_good ? refused(reason) : later(reason);
}

class SendmailSender : public MailSender {
 public:
  SendmailSender(const model::MailSettings& settings, const std::optional<os::Rights>& rights)
      : program_(settings.program()), rights_(rights), timeout_(settings.timeout_seconds()) {}

  DeliveryOutcome send(const ReadyMail& mail) override {
    // -oi: a line with only a dot does not end the message. No address is taken from the message's head.
    std::vector<std::string> words = {program_, "-oi", "-f", mail.from, "--"};
    words.insert(words.end(), mail.to.begin(), mail.to.end());
    std::string text;  // a program reads its system's line ends
    for (const char c : mail.text) {
      if (c != '\r') text += c;
    }
    return run_program(std::move(words), {}, text, rights_, timeout_);
  }

 private:
  std::string program_;
  std::optional<os::Rights> rights_;
  std::chrono::seconds timeout_;
};

// MailProg, called as Slurm calls it and mail(1) understands it.
class MailProgSender : public MailSender {
 public:
  MailProgSender(const model::MailSettings& settings, const std::optional<os::Rights>& rights)
      : program_(settings.mail_program()), rights_(rights), timeout_(settings.timeout_seconds()) {}

  DeliveryOutcome send(const ReadyMail& mail) override {
    std::vector<std::string> words = {program_, "-s", mail.subject};
    // None of them is an option, a command or a file to mail(1): recipients() ensures that.
    words.insert(words.end(), mail.to.begin(), mail.to.end());
    // Some mail(1) take a tilde at the beginning of a line as a command.
    std::string body;
    for (const char c : mail.body) {
      if (c == '~' && (body.empty() || body.back() == '\n')) body += ' ';
      body += c;
    }
    return run_program(std::move(words), mail.environment, body, rights_, timeout_);
  }

 private:
  std::string program_;
  std::optional<os::Rights> rights_;
  std::chrono::seconds timeout_;
};

// ---- SMTP by libcurl ------------------------------------------------------------------------------

#ifdef MINKE_HAS_CURL

size_t read_part(char* buffer, size_t size, size_t count, void* rest) {
  auto& text = *static_cast<std::string_view*>(rest);
  const size_t length = std::min(size * count, text.size());
  std::memcpy(buffer, text.data(), length);
  text.remove_prefix(length);
  return length;
}

size_t drop(char*, size_t size, size_t count, void*) {
  return size * count;
}

long tls_of(const model::MailSettings& settings) {
  switch (settings.tls()) {
    case model::MailSettings::NONE:
      return CURLUSESSL_NONE;
    case model::MailSettings::IF_OFFERED:
      return CURLUSESSL_TRY;
    default:
      return CURLUSESSL_ALL;
  }
}

class SmtpSender : public MailSender {
 public:
  explicit SmtpSender(const model::MailSettings& settings) : settings_(settings) {
    if (curl_.load()) handle_ = curl_.init();
  }
  ~SmtpSender() override {
    if (handle_ != nullptr) curl_.cleanup(handle_);
  }
  SmtpSender(const SmtpSender&) = delete;
  SmtpSender& operator=(const SmtpSender&) = delete;

  DeliveryOutcome send(const ReadyMail& mail) override {
    if (handle_ == nullptr) return later("libcurl is not installed (Debian: libcurl4)");
    if (const Status read = read_password(); !read) return later(read.error().message);
    char problem[CURL_ERROR_SIZE] = "";
    std::string_view rest = mail.text;
    const std::string from = "<" + mail.from + ">";
    curl_slist* to = nullptr;
    for (const std::string& one : mail.to) to = curl_.append(to, ("<" + one + ">").c_str());
    set_server();
    set(CURLOPT_ERRORBUFFER, static_cast<char*>(problem));
    set(CURLOPT_MAIL_FROM, from.c_str());
    set(CURLOPT_MAIL_RCPT, to);
    set(CURLOPT_READDATA, static_cast<void*>(&rest));
    const CURLcode outcome = curl_.perform(handle_);
    long code = 0;
    curl_.get(handle_, CURLINFO_RESPONSE_CODE, &code);
    set(CURLOPT_MAIL_RCPT, static_cast<curl_slist*>(nullptr));
    set(CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
    curl_.free_list(to);
    if (outcome == CURLE_OK) return {Delivery::kSent, {}};
    const std::string reason = settings_.server() + ": " + (problem[0] != '\0' ? problem : "no answer") +
                               (code >= 400 ? " (" + std::to_string(code) + ")" : "");
    // 55x is about this message. The site must fix a failed login, or a server that requires one.
    const bool for_good = code >= 550 && code < 560 && outcome != CURLE_LOGIN_DENIED;
    return for_good ? refused(reason) : later(reason);
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_.set(handle_, option, value);
  }

  void set_server() {
    const long seconds = settings_.timeout_seconds();
    set(CURLOPT_URL, settings_.server().c_str());
    set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, seconds);
    set(CURLOPT_TIMEOUT, seconds);
    set(CURLOPT_USE_SSL, tls_of(settings_));
    if (!settings_.ca_file().empty()) set(CURLOPT_CAINFO, settings_.ca_file().c_str());
    if (!settings_.user().empty()) {
      set(CURLOPT_USERNAME, settings_.user().c_str());
      set(CURLOPT_PASSWORD, password_.c_str());
    }
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &read_part);
    set(CURLOPT_WRITEFUNCTION, &drop);
  }

  Status read_password() {
    if (settings_.password_file().empty() || !password_.empty()) return {};
    auto text = os::read_file(settings_.password_file(), 4096);
    if (!text) return failure(text.error());
    password_ = *text;
    while (password_.ends_with('\n') || password_.ends_with('\r')) password_.pop_back();
    return {};
  }

  const model::MailSettings settings_;
  CurlLibrary curl_;
  CURL* handle_ = nullptr;
  std::string password_;
};

#else

class SmtpSender : public MailSender {
 public:
  explicit SmtpSender(const model::MailSettings&) {}
  DeliveryOutcome send(const ReadyMail&) override { return later("this program was built without libcurl"); }
};

#endif

}  // namespace

Result<os::Rights> mail_program_rights(const std::string& run_as) {
  const std::string name = run_as.empty() ? "nobody" : run_as;
  const passwd* user = ::getpwnam(name.c_str());
  if (user == nullptr && !run_as.empty()) return failure("[mail] run_as: there is no user " + name);
  if (user != nullptr && user->pw_uid == 0) return failure("[mail] run_as must not be root");
  constexpr uid_t kNobody = 65534;
  return user == nullptr ? os::Rights{kNobody, kNobody, {}} : os::rights_of(user->pw_uid, user->pw_gid);
}

std::unique_ptr<MailSender> make_mail_sender(const model::MailSettings& settings,
                                             const std::optional<os::Rights>& rights) {
  if (!settings.mail_program().empty()) return std::make_unique<MailProgSender>(settings, rights);
  if (!settings.program().empty()) return std::make_unique<SendmailSender>(settings, rights);
  return std::make_unique<SmtpSender>(settings);
}

}  // namespace minke::helpers
