#include "grow/looking.h"

#include <chrono>

#include "grow/host.h"
#include "text/hostlist.h"

namespace minke::grow {
namespace {

int64_t now_in_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<Machine> look_at(const std::string& host, const std::vector<std::string>& people) {
  const int64_t began = now_in_milliseconds();
  const auto said =
      run_on_host(host, probe_script(people), {.timeout = std::chrono::seconds(60), .changes = false});
  const int64_t ended = now_in_milliseconds();
  if (!said) return failure(said.error());
  auto machine = parse_machine(said->output);
  if (!machine) return failure(host_words(host) + ": " + machine.error().message);
  machine->host = host;
  // It looked at some time between; nothing is known of when.
  if (machine->clock_milliseconds < began) machine->clock_ahead = machine->clock_milliseconds - began;
  if (machine->clock_milliseconds > ended) machine->clock_ahead = machine->clock_milliseconds - ended;
  return machine;
}

Result<std::vector<std::string>> hosts_of(const std::vector<std::string>& words) {
  std::vector<std::string> hosts;
  for (const std::string& word : words) {
    // user@n[1-3]
    const size_t at = word.find('@');
    const std::string user = at == std::string::npos ? "" : word.substr(0, at + 1);
    const auto names = text::expand_hostlist(at == std::string::npos ? word : word.substr(at + 1));
    if (!names) return failure("\"" + word + "\": " + names.error().message);
    for (const std::string& name : *names) {
      if (const Status good = check_host(user + name); !good) return failure(good.error());
      hosts.push_back(user + name);
    }
  }
  return hosts;
}

}  // namespace minke::grow
