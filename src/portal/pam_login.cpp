#include "portal/pam_login.h"

#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "os/pass_descriptors.h"
#include "portal/door_wire.h"

namespace minke::portal {
namespace {

// As <security/pam_appl.h> has them since Linux-PAM 0.
constexpr int kPamSuccess = 0, kPamConvErr = 19, kPamBufErr = 5;
constexpr int kPromptEchoOff = 1, kPromptEchoOn = 2;
constexpr int kPamUser = 2, kPamRhost = 4, kPamTty = 3;
constexpr int kPamDisallowNullAuthtok = 1, kPamNewAuthtokRequired = 12;
constexpr size_t kMostGroups = 4096;
constexpr int kMostMessages = 32, kMostTurns = 64;
constexpr unsigned kSeconds = 120;

struct PamMessage {
  int style;
  const char* text;
};
struct PamResponse {
  char* text;
  int code;
};
struct PamConversation {
  int (*talk)(int, const PamMessage**, PamResponse**, void*);
  void* data;
};

struct Pam {
  int (*start)(const char*, const char*, const PamConversation*, void**) = nullptr;
  int (*end)(void*, int) = nullptr;
  int (*authenticate)(void*, int) = nullptr;
  int (*acct_mgmt)(void*, int) = nullptr;
  int (*set_item)(void*, int, const void*) = nullptr;
  int (*get_item)(const void*, int, const void**) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool load(Pam& pam) {
  void* library = ::dlopen("libpam.so.0", RTLD_NOW | RTLD_GLOBAL);
  return library != nullptr && find(library, "pam_start", pam.start) && find(library, "pam_end", pam.end) &&
         find(library, "pam_authenticate", pam.authenticate) &&
         find(library, "pam_acct_mgmt", pam.acct_mgmt) && find(library, "pam_set_item", pam.set_item) &&
         find(library, "pam_get_item", pam.get_item);
}

struct Talk {
  int socket = -1;
  int turns = 0;
};

// Returns the answer; none: he has left, or answers too much.
std::optional<std::string> ask(Talk& talk, Turn turn, const char* text) {
  if (++talk.turns > kMostTurns) return std::nullopt;
  std::string bytes(1, static_cast<char>(turn));
  bytes += std::string_view(text == nullptr ? "" : text).substr(0, kMostTurn);
  if (os::send_bytes(talk.socket, bytes, {}, MSG_NOSIGNAL) < 0) return std::nullopt;
  if (turn == Turn::kTold) return std::string();
  auto packet = os::receive_packet(talk.socket, kMostTurn + 1);
  if (!packet || packet->bytes.empty() || packet->bytes[0] != static_cast<char>(Turn::kAnswer))
    return std::nullopt;
  std::string answer = packet->bytes.substr(1);
  ::explicit_bzero(packet->bytes.data(), packet->bytes.size());
  if (answer.find('\0') != std::string::npos) return std::nullopt;
  return answer;
}

// What modules call. Each answer is theirs to free.
int converse(int count, const PamMessage** messages, PamResponse** responses, void* data) {
  if (count <= 0 || count > kMostMessages) return kPamConvErr;
  auto* answers = static_cast<PamResponse*>(std::calloc(static_cast<size_t>(count), sizeof(PamResponse)));
  if (answers == nullptr) return kPamBufErr;
  for (int i = 0; i < count; ++i) {
    const int style = messages[i]->style;
    const Turn turn = style == kPromptEchoOff  ? Turn::kSecret
                      : style == kPromptEchoOn ? Turn::kOpen
                                               : Turn::kTold;
    auto answer = ask(*static_cast<Talk*>(data), turn, messages[i]->text);
    if (!answer) {
      for (int done = 0; done < i; ++done) std::free(answers[done].text);
      std::free(answers);
      return kPamConvErr;
    }
    if (turn != Turn::kTold) answers[i].text = ::strdup(answer->c_str());
    ::explicit_bzero(answer->data(), answer->size());
  }
  *responses = answers;
  return kPamSuccess;
}

Outcome authenticate(const std::string& service, const std::string& name, const std::string& address,
                     Talk& talk) {
  Pam pam;
  if (!load(pam)) return {std::nullopt, "this machine has no PAM: libpam.so.0 cannot be loaded"};
  const PamConversation conversation{converse, &talk};
  void* handle = nullptr;
  if (pam.start(service.c_str(), name.c_str(), &conversation, &handle) != kPamSuccess)
    return {std::nullopt, "PAM cannot begin: see the log of this machine"};
  pam.set_item(handle, kPamRhost, address.c_str());
  pam.set_item(handle, kPamTty, "minke-portal");
  int result = pam.authenticate(handle, kPamDisallowNullAuthtok);
  if (result == kPamSuccess) result = pam.acct_mgmt(handle, kPamDisallowNullAuthtok);
  // The same words whatever was wrong: they tell nobody which names there are.
  Outcome outcome{std::nullopt, "the log-in was refused"};
  if (result == kPamNewAuthtokRequired)
    outcome.why = "the password has expired: change it where you log in by ssh";
  const void* user = nullptr;
  if (result == kPamSuccess && pam.get_item(handle, kPamUser, &user) == kPamSuccess)
    outcome = person_of(  // a module may have given another name
        static_cast<const char*>(user));
  pam.end(handle, result);
  return outcome;
}

}  // namespace

Outcome person_of(const char* name) {
  const passwd* entry = name == nullptr ? nullptr : ::getpwnam(name);
  if (entry == nullptr) return {std::nullopt, "this machine does not know the user"};
  if (entry->pw_uid == 0) return {std::nullopt, "root does not log in here"};
  Admitted person{entry->pw_uid, entry->pw_gid, {}, entry->pw_name, entry->pw_dir, entry->pw_shell};
  int count = NGROUPS_MAX;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  if (::getgrouplist(person.name.c_str(), person.gid, groups.data(), &count) < 0)
    return {std::nullopt, "the user's groups cannot be read"};
  if (static_cast<size_t>(count) > kMostGroups) return {std::nullopt, "the user is in too many groups"};
  person.groups.assign(groups.begin(), groups.begin() + count);
  return {person, ""};
}

std::string outcome_bytes(const std::optional<Admitted>& admitted, std::string_view why) {
  if (!admitted)
    return nlohmann::json{{"why", why}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json{{"uid", admitted->uid},   {"gid", admitted->gid},   {"groups", admitted->groups},
                        {"name", admitted->name}, {"home", admitted->home}, {"shell", admitted->shell}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Outcome read_outcome(std::string_view bytes) {
  const auto value = nlohmann::json::parse(bytes, nullptr, false);
  Outcome outcome{std::nullopt, "the log-in ended without an outcome"};
  if (!value.is_object()) return outcome;
  try {
    if (value.contains("why")) {
      outcome.why = value.at("why").get<std::string>();
      return outcome;
    }
    Admitted person;
    person.uid = value.at("uid").get<uint32_t>();
    person.gid = value.at("gid").get<uint32_t>();
    person.groups = value.at("groups").get<std::vector<uint32_t>>();
    person.name = value.at("name").get<std::string>();
    person.home = value.at("home").get<std::string>();
    person.shell = value.at("shell").get<std::string>();
    outcome.admitted = std::move(person);
  } catch (const nlohmann::json::exception&) {
    outcome.admitted.reset();
  }
  return outcome;
}

int pam_login(const std::string& service, const std::string& name, const std::string& address,
              int conversation, int outcome) {
  ::alarm(kSeconds);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // it holds passwords
  ::prctl(PR_SET_DUMPABLE, 0);
  Talk talk{.socket = conversation};
  const Outcome found = authenticate(service, name, address, talk);
  os::send_bytes(outcome, outcome_bytes(found.admitted, found.why), {}, MSG_NOSIGNAL);
  return found.admitted ? 0 : 1;
}

}  // namespace minke::portal
