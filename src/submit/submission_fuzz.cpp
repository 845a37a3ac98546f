// Any script, and any command line before it: nothing may crash, and a refusal consists of whole lines.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/job_spec.pb.h"
#include "submit/environment.h"
#include "submit/job_request.h"
#include "submit/script.h"
#include "submit/sqsub.h"
#include "submit/update.h"

using namespace minke::submit;

// First byte: the command. Then lines: arguments, an empty line, and the script.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  Invocation invocation;
  invocation.command = static_cast<Command>(1u << (data[0] % 3));
  invocation.working_directory = "/";
  invocation.now = 1795219987;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) break;
    if (size_t equals = line.find('='); line[0] != '-' && equals != std::string_view::npos) {
      minke::model::JobSpec spec;
      spec.set_time_limit_minutes(10);
      (void)apply_update(spec, line.substr(0, equals), line.substr(equals + 1), invocation.now);
      invocation.environment.emplace_back(line);
    } else {
      invocation.arguments.emplace_back(line);
    }
  }
  // Whatever a named file holds is the script once more.
  invocation.read_file = [text](const std::string& path) -> minke::Result<std::string> {
    if (path.ends_with('0')) return minke::failure("no such file");
    return std::string(text);
  };
  if (auto sqsub = translate_sqsub(invocation.arguments); sqsub && !sqsub->show_help) {
    MINKE_CHECK(sqsub->script.starts_with("#!") && !sqsub->arguments.empty());
  }
  auto check = [](const Refusal& refusal) {
    MINKE_CHECK(refusal.exit_status != 0 && !refusal.text.empty() && refusal.text.back() == '\n');
  };
  auto line = read_command_line(invocation);
  if (!line) {
    check(line.error());
    return 0;
  }
  auto request = make_job_request(invocation, *line, ScriptFile{"/job.sh", std::string(text)});
  if (!request) {
    check(request.error());
    return 0;
  }
  if (invocation.command == Command::kSbatch) MINKE_CHECK(request->script.starts_with("#!"));
  MINKE_CHECK(request->het_components.size() != 1);
  export_environment(invocation.environment, request->spec.export_option());
  return 0;
}
