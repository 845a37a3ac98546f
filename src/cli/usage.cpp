#include "cli/usage.h"

#include <cstdio>
#include <ctime>

#include "cli/complain.h"
#include "cli/no_time.h"
#include "engine/engine.h"
#include "engine/open.h"
#include "helpers/usage_of_year.h"
#include "text/timestamp.h"
#include "view/output.h"

namespace minke::cli {

int usage(const UsageOptions& options) {
  helpers::UsageWanted wanted{
      .begin = 0, .now = std::time(nullptr), .accounts = options.accounts, .equivalent = options.gpu};
  wanted.begin = helpers::last_first_of_april(wanted.now);
  if (!options.since.empty()) {
    const auto given = text::parse_time(options.since, wanted.now, true);
    if (!given) return complain(no_time(options.since).message);
    wanted.begin = *given;
  }
  if (wanted.begin >= wanted.now) return complain("the year has not begun yet");
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  const auto report = helpers::usage_of_year(**cluster, wanted);
  if (!report) return complain(report.error().message);
  view::write_out(options.json ? report->json() : report->text());
  return 0;
}

}  // namespace minke::cli
