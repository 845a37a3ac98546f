#include "submit/completion.h"

#include "options/values.h"
#include "submit/option_table.h"

namespace minke::submit {
namespace {

// The values that an option can have, as in options::Option::values.
struct Values {
  std::string_view option;
  std::string_view words;
};
constexpr Values kValues[] = {
    {"account", options::kAccountNames},
    {"chdir", options::kDirectories},
    {"constraint", "$sinfo -h -o %b | tr ',' '\\n' | sort -u"},
    {"dependency", "after: afterany: afternotok: afterok: aftercorr: singleton"},
    {"distribution", "block cyclic plane= arbitrary"},
    {"error", options::kFiles},
    {"exclude", options::kNodeNames},
    {"exclusive", "user mcs topo"},
    {"export", "ALL NONE NIL"},
    {"export-file", options::kFiles},
    {"gres-flags", "disable-binding enforce-binding"},
    {"hint", "compute_bound memory_bound multithread nomultithread"},
    {"input", options::kFiles},
    {"jobid", options::kRunningJobIds},
    {"kill-on-bad-exit", "0 1"},
    {"kill-on-invalid-dep", "yes no"},
    {"mail-type",
     "NONE BEGIN END FAIL REQUEUE ALL INVALID_DEPEND TIME_LIMIT TIME_LIMIT_90 TIME_LIMIT_80 "
     "TIME_LIMIT_50 ARRAY_TASKS"},
    {"nodefile", options::kFiles},
    {"nodelist", options::kNodeNames},
    {"open-mode", "append truncate"},
    {"output", options::kFiles},
    {"partition", options::kPartitionNames},
    {"propagate", "ALL NONE AS CORE CPU DATA FSIZE MEMLOCK NOFILE NPROC RSS STACK"},
    {"qos", options::kQosNames},
    {"reservation", options::kReservationNames},
};

std::string_view values_of(const Option& option) {
  for (const Values& values : kValues)
    if (values.option == option.name) return values.words;
  return {};
}

}  // namespace

options::Command completed_command(Command command) {
  options::Command described{.name = command_name(command), .operand_values = options::kFiles};
  for (const Option& option : all_options()) {
    if (!option.belongs_to(command) || option.disposition == Disposition::kRefused) continue;
    described.options.push_back(
        {option.name, option.letter, option.argument, option.argument_name, option.help, values_of(option)});
  }
  return described;
}

}  // namespace minke::submit
