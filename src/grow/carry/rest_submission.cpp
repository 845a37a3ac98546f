#include "grow/carry/rest_submission.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "grow/carry/commands.h"
#include "os/fd.h"
#include "os/program_output.h"
#include "text/number.h"

namespace minke::grow {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kPatience{60};
constexpr size_t kLongestAnswer = size_t{1} << 22;
constexpr const char* kPath = "/slurm/v0.0.42/job/submit";  // 24.11 to 26.05 have it

Result<os::UniqueFd> request_file(const std::string& token, const std::string& body) {
  os::UniqueFd file(::memfd_create("minke-request", MFD_CLOEXEC));
  if (!file) return failure_from_errno("memfd_create", errno);
  const std::string request =
      std::string("POST ") + kPath +
      " HTTP/1.1\r\nHost: localhost\r\nX-SLURM-USER-NAME: root\r\nX-SLURM-USER-TOKEN: " + token +
      "\r\nContent-Type: application/json\r\nConnection: Close\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  for (size_t written = 0; written < request.size();) {
    const ssize_t done = ::write(file.get(), request.data() + written, request.size() - written);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failure_from_errno("a request to slurmrestd", errno);
    written += static_cast<size_t>(done);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return failure_from_errno("lseek", errno);
  return file;
}

// "slurm-wlm 24.11.5".
bool serves_interface(std::string_view version) {
  const size_t at = version.find_first_of("0123456789");
  if (at == std::string_view::npos) return false;
  version.remove_prefix(at);
  const auto year = text::parse_unsigned(version.substr(0, version.find('.')), 99);
  const std::string_view rest = version.substr(std::min(version.size(), version.find('.') + 1));
  const auto month = text::parse_unsigned(rest.substr(0, rest.find('.')), 12);
  if (!year || !month) return false;
  const uint64_t release = *year * 100 + *month;
  return release >= 2411 && release <= 2605;
}

std::string words_of(const json& entry) {
  std::string words = entry.value("error", "");
  const std::string description = entry.value("description", "");
  if (words.empty()) return description;
  return description.empty() ? words : words + " (" + description + ")";
}

}  // namespace

Result<uint32_t> submitted_number(const std::string& answer) {
  const size_t body = answer.find("\r\n\r\n");
  const size_t begin = answer.find('{', body == std::string::npos ? 0 : body);
  const size_t end = answer.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return failure("slurmrestd answers: " + std::string(text::trim(answer)).substr(0, 300));
  const json document = json::parse(answer.substr(begin, end - begin + 1), nullptr, false);
  if (!document.is_object()) return failure("slurmrestd's answer is no JSON");
  if (const auto errors = document.find("errors");
      errors != document.end() && errors->is_array() && !errors->empty()) {
    const json& first = errors->front();
    return failure(first.is_object() ? words_of(first) : "slurmrestd refuses",
                   first.is_object() ? first.value("error_number", 0) : 0);
  }
  const auto id = document.find("job_id");
  if (id == document.end() || !id->is_number_unsigned())
    return failure("slurmrestd does not say the job's number");
  return id->get<uint32_t>();
}

Result<RestSubmission> RestSubmission::open(const NewSlurm& slurm) {
  RestSubmission rest;
  rest.slurm_ = slurm;
  const auto release = Commands(slurm).ask({"scontrol", "--version"});
  if (!release) return failure(release.error());
  if (!serves_interface(*release))
    return failure(std::string(text::trim(*release)) +
                       " lets nobody submit a job under a given number (24.11 to 26.05 do): its owner has to "
                       "submit it again",
                   ENOTSUP);
  const std::string program = slurm.daemons + "/slurmrestd";
  if (::access(program.c_str(), X_OK) != 0)
    return failure(
        "this machine has no " + program + ": install slurmrestd. Without it no job can keep its number",
        ENOENT);
  const auto said = Commands(slurm).ask({"scontrol", "token", "username=root", "lifespan=3600"});
  if (!said)
    return failure("slurmctld gives no token (" + said.error().message +
                   "): slurm.conf needs AuthAltTypes=auth/jwt with a key in AuthAltParameters");
  const size_t equals = said->find("SLURM_JWT=");
  if (equals == std::string::npos) return failure("scontrol token says no token");
  rest.token_ = text::trim(std::string_view(*said).substr(equals + 10));
  return rest;
}

Result<uint32_t> RestSubmission::submit(const std::vector<json>& jobs) const {
  const json document = jobs.size() == 1 ? json{{"job", jobs.front()}} : json{{"jobs", jobs}};
  const auto request = request_file(token_, document.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!request) return failure(request.error());
  auto output = os::ProgramOutput::start(
      {slurm_.daemons + "/slurmrestd", "-u", "daemon", "-g", "daemon", "-a", "rest_auth/jwt"},
      {.timeout = kPatience,
       .most_bytes = kLongestAnswer,
       .environment = {"SLURM_JWT=daemon"},
       .input = request->get()});
  if (!output) return failure(output.error());
  std::string answer;
  char buffer[size_t{16} << 10];
  for (;;) {
    const auto got = output->read(buffer, sizeof buffer);
    if (!got) return failure(got.error());
    if (*got == 0) break;
    answer.append(buffer, *got);
  }
  const auto ended = output->finish();
  if (!ended) return failure(ended.error());
  if (answer.find("HTTP/1.") == std::string::npos)
    return failure("slurmrestd: " + std::string(text::trim(ended->complaint)).substr(0, 300));
  return submitted_number(answer);
}

}  // namespace minke::grow
