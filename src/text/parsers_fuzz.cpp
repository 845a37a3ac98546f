// Every parser of this room on one input: none may crash, and what one accepts must be written and read back
// alike.
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
  if (auto array = parse_array_spec(text)) {
    std::string written = format_array_spec(*array);
    auto again = parse_array_spec(written);
    MINKE_CHECK(again && format_array_spec(*again) == written);
    MINKE_CHECK(format_array_tasks(*array).size() < 64 + 12);
    MINKE_CHECK(contains_index(*array, highest_index(*array)) &&
                contains_index(*array, lowest_index(*array)));
  }
  if (auto list = parse_dependencies(text)) {
    std::string written = format_dependency_request(*list);
    auto again = parse_dependencies(written);
    MINKE_CHECK(again && format_dependency_request(*again) == written);
  }
  if (auto ids = parse_job_id_list(text)) {
    for (const JobReference& id : *ids) {
      std::string written = format_job_id(id);
      auto again = parse_job_id(written);
      MINKE_CHECK(again && format_job_id(*again) == written);
    }
  }
  if (auto gres = parse_gres_list(text)) {
    std::string written = format_gres_list(*gres);
    auto again = parse_gres_list(written);
    MINKE_CHECK(again && format_gres_list(*again) == written);
  }
  parse_gpu_list(text);
  if (auto warning = parse_warning_signal(text)) {
    std::string written = format_warning_signal(*warning);
    MINKE_CHECK(format_warning_signal(*parse_warning_signal(written)) == written);
  }
  expand_file_pattern(text, FilePatternValues{});
  if (size < 64) {  // longer ones only spend time on large expansions
    if (auto hosts = expand_hostlist(text)) {
      auto again = expand_hostlist(compress_hostlist(*hosts));
      MINKE_CHECK(again && *again == *hosts);
    }
  }
  return 0;
}
