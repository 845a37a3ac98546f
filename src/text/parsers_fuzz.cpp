// Runs every parser of this room on one input: none may crash, and an accepted value must survive being
// written and read back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/array_spec.h"
#include "text/cpu_bind.h"
#include "text/dependency.h"
#include "text/duration.h"
#include "text/file_pattern.h"
#include "text/hostlist.h"
#include "text/job_id.h"
#include "text/mem_bind.h"
#include "text/memory.h"
#include "text/signal_name.h"
#include "text/state.h"
#include "text/timestamp.h"
#include "text/tres.h"

using namespace minke::text;

// Writes an accepted value, reads it back, and checks that it is written the same again.
template <typename Parse, typename Format>
void check_written(std::string_view text, Parse parse, Format format) {
  const auto value = parse(text);
  if (!value) return;
  const std::string written = format(*value);
  const auto again = parse(written);
  MINKE_CHECK(again && format(*again) == written);
}

void check_array(const minke::model::ArraySpec& array) {
  MINKE_CHECK(format_array_tasks(array).size() < 64 + 12);
  MINKE_CHECK(contains_index(array, highest_index(array)) && contains_index(array, lowest_index(array)));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto minutes = parse_minutes(text)) MINKE_CHECK(parse_minutes(format_minutes(*minutes)) == *minutes);
  if (auto mib = parse_mib(text)) format_mib(*mib, Scaling::kAny);
  parse_time(text, 1795219987);
  parse_time(text, 1795219987, true);
  parse_job_state(text);
  if (auto bind = parse_cpu_bind(text)) {
    for (const auto& cpus : bind->cpus) MINKE_CHECK(format_cpu_mask(cpus).size() >= 3);
  }
  if (auto bind = parse_mem_bind(text)) {
    MINKE_CHECK(bind->nodes.empty() == (bind->kind != MemBind::kMap && bind->kind != MemBind::kMask));
  }
  if (auto array = parse_array_spec(text)) check_array(*array);
  check_written(text, parse_array_spec, format_array_spec);
  check_written(text, parse_dependencies, [](const auto& terms) { return format_dependency_request(terms); });
  if (auto ids = parse_job_id_list(text)) {
    for (const JobReference& id : *ids)
      check_written(format_job_id(id), parse_job_id,
                    [](const JobReference& one) { return format_job_id(one); });
  }
  check_written(
      text, [](std::string_view given) { return parse_gres_list(given); }, format_gres_list);
  parse_gpu_list(text);
  check_written(text, parse_warning_signal, format_warning_signal);
  expand_file_pattern(text, FilePatternValues{});
  if (size < 64) {  // longer ones only spend time on large expansions
    if (auto hosts = expand_hostlist(text)) {
      auto again = expand_hostlist(compress_hostlist(*hosts));
      MINKE_CHECK(again && *again == *hosts);
    }
  }
  return 0;
}
