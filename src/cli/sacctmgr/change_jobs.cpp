// sacctmgr modify job: the fields of an ended job that may still change.
#include <fmt/format.h>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "cli/sacctmgr/change.h"
#include "cli/sacctmgr/matching.h"
#include "text/number.h"

namespace minke::cli {

int modify_job(AccountingSession& session, const Words& words) {
  if (words.set.empty()) return refuse(" You didn't give me anything to set");
  api::UpdateRecordsRequest request;
  std::string jobs;
  for (const Word& word : words.where) {
    if (word.name == "cluster") continue;
    if (!word.name.empty() && word.name != "job" && word.name != "id")
      return refuse(" Unknown condition: " + word.text + "\n Use keyword 'set' to modify value");
    for (const std::string& item : lower_list(word.value)) {
      const auto id = text::parse_unsigned(item, UINT32_MAX);
      if (!id) return refuse(" Invalid job id '" + item + "'");
      request.add_jobs()->set_job_id(static_cast<uint32_t>(*id));
      jobs += "  " + item + "\n";
    }
  }
  if (request.jobs().empty()) return refuse(" You need to specify the jobs: jobid=");
  for (const Word& word : words.set) {
    if (!is_one_of(word, {"derivedexitcode", "derivedexitstring", "comment", "admincomment", "systemcomment",
                          "newwckey", "wckeys", "extra"}))
      return refuse(unknown_option(word));
    api::Field& field = *request.add_fields();
    field.set_name(word.name == "wckeys"              ? "newwckey"
                   : word.name == "derivedexitstring" ? "comment"
                                                      : word.name);
    field.set_value(word.value);
  }
  if (!session.writable()) return 1;
  if (!session.agreed()) {
    session.say(" Changes Discarded\n");
    return 0;
  }
  const auto answer = session.engine().update(request);
  if (!answer) return refuse(" Error with request: " + answer.error().message);
  if (answer->changed() == 0) return session.nothing("modified");
  session.say(" Modified jobs...\n" + jobs);
  return 0;
}

}  // namespace minke::cli
