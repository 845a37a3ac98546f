#include "cli/mail/send.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#define MINKE_HAS_CURL 1
#endif

#include "cli/mail/mime.h"
#include "os/fd.h"
#include "os/files.h"

extern char** environ;

namespace minke::cli {

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

// What the reader does not take, it does not want: its exit code says why.
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

// Its exit code says what became of the message.
DeliveryOutcome run_program(std::vector<std::string> words, std::vector<std::string> environment,
                            std::string_view input, std::chrono::seconds timeout) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return later("pipe: " + std::string(std::strerror(errno)));
  os::UniqueFd reader(ends[0]), writer(ends[1]);
  const std::string program = words.front();
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> found;
    for (std::string& text : texts) found.push_back(text.data());
    found.push_back(nullptr);
    return found;
  };
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, reader.get(), 0);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers(words).data(),
                                  pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return later(program + ": " + std::strerror(error));
  reader.reset();

  const auto deadline = Clock::now() + timeout;
  write_all(writer.get(), input, deadline);
  writer.reset();
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (Clock::now() > deadline) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return later(program + " took too long");
    }
    ::poll(nullptr, 0, 10);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {Delivery::kSent, {}};
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const std::string reason =
      program + " ended with " + (code < 0 ? "a signal" : "code " + std::to_string(code));
  const bool for_good = code == EX_NOUSER || code == EX_NOHOST || code == EX_DATAERR;
  return for_good ? refused(reason) : later(reason);
}

class SendmailSender : public MailSender {
 public:
  explicit SendmailSender(const model::MailSettings& settings)
      : program_(settings.program()), timeout_(settings.timeout_seconds()) {}

  DeliveryOutcome send(const ReadyMail& mail) override {
    // -oi: a line with a dot alone ends nothing. No address is taken from the message's head.
    std::vector<std::string> words = {program_, "-oi", "-f", mail.from, "--"};
    words.insert(words.end(), mail.to.begin(), mail.to.end());
    std::string text;  // a program reads its system's line ends
    for (const char c : mail.text) {
      if (c != '\r') text += c;
    }
    return run_program(std::move(words), {}, text, timeout_);
  }

 private:
  std::string program_;
  std::chrono::seconds timeout_;
};

// MailProg, called as Slurm calls it and mail(1) understands it.
class MailProgSender : public MailSender {
 public:
  explicit MailProgSender(const model::MailSettings& settings)
      : program_(settings.mail_program()), timeout_(settings.timeout_seconds()) {}

  DeliveryOutcome send(const ReadyMail& mail) override {
    std::vector<std::string> words = {program_, "-s", mail.subject};
    // None of them begins with a dash: recipients() sees to that.
    words.insert(words.end(), mail.to.begin(), mail.to.end());
    // To some mail(1) a tilde at a line's begin is a command.
    std::string body;
    for (const char c : mail.body) {
      if (c == '~' && (body.empty() || body.back() == '\n')) body += ' ';
      body += c;
    }
    return run_program(std::move(words), mail.environment, body, timeout_);
  }

 private:
  std::string program_;
  std::chrono::seconds timeout_;
};

// ---- SMTP by libcurl ------------------------------------------------------------------------------

#ifdef MINKE_HAS_CURL

struct Curl {
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) get = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;

  bool load(void* library) {
    const auto one = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    return one(init, "curl_easy_init") && one(set, "curl_easy_setopt") && one(perform, "curl_easy_perform") &&
           one(get, "curl_easy_getinfo") && one(cleanup, "curl_easy_cleanup") &&
           one(append, "curl_slist_append") && one(free_list, "curl_slist_free_all");
  }
};

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
    void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = ::dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr && curl_.load(library)) handle_ = curl_.init();
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
    // 55x is about this message. A login that fails, or a server that wants one, is the site's to mend.
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
  Curl curl_;
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

std::unique_ptr<MailSender> make_mail_sender(const model::MailSettings& settings) {
  if (!settings.mail_program().empty()) return std::make_unique<MailProgSender>(settings);
  if (!settings.program().empty()) return std::make_unique<SendmailSender>(settings);
  return std::make_unique<SmtpSender>(settings);
}

}  // namespace minke::cli
