#include "portal/native_pages.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "engine/slurm/find.h"
#include "engine/slurm/programs.h"
#include "view/document/answers.h"

namespace minke::portal {
namespace {

namespace answer = view::answer;

struct Native {
  std::string_view answer;
  const char* command;
  const char* entity;  // of sacctmgr; nullptr: none
};
constexpr Native kNatives[] = {
    {answer::kDiagnostics, "sdiag", nullptr},
    {answer::kShares, "sshare", nullptr},
    {answer::kAccounts, "sacctmgr", "accounts"},
    {answer::kUsers, "sacctmgr", "users"},
    {answer::kQos, "sacctmgr", "qos"},
    {answer::kAssociations, "sacctmgr", "associations"},
    {answer::kClusters, "sacctmgr", "clusters"},
    {answer::kWckeys, "sacctmgr", "wckeys"},
    {answer::kAccountingStatistics, "sacctmgr", "stats"},
};

}  // namespace

Result<Reply> native_page(Call& call, std::string_view answer, int version) {
  const auto row = std::find_if(std::begin(kNatives), std::end(kNatives),
                                [&](const Native& one) { return one.answer == answer; });
  if (row == std::end(kNatives)) return failure("no document of a command's", ENOTSUP);
  const auto identity = call.cluster.identity();
  if (!identity || identity->product != "Slurm") return failure("not of a real Slurm", ENOTSUP);
  const auto found = engine::slurm::find_slurm();
  if (!found || !*found) return failure("not of a real Slurm", ENOTSUP);
  std::vector<std::string> words = {row->command, "--json=v0.0." + std::to_string(version)};
  if (row->entity == nullptr) {
    if (answer == answer::kShares) words.emplace_back("--all");
  } else {
    words.insert(words.end(), {"show", row->entity});
    if (call.has("name")) words.insert(words.end(), {"where", "name=" + call.text("name")});
  }
  auto text = engine::slurm::Programs((*found)->place).text(words);
  if (!text) return failure(text.error());
  if (!text->starts_with('{')) return failure("this Slurm has no documents of this version", ENOTSUP);
  return Reply{.type = "application/json", .body = std::move(*text)};
}

}  // namespace minke::portal
