// minke storage doctor: finds the cause of "Disk quota exceeded", and fixes it if asked to.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/storage/storage.h"
#include "helpers/my_tiers.h"
#include "helpers/names.h"
#include "storage/group_check.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::cli {

namespace {

// The findings of one tier.
struct Checked {
  const storage::Tier& tier;
  std::string path;  // as it is shown
  std::string group;
  storage::GroupFindings found;

  uint64_t causes() const { return found.other_group + found.not_handed_down; }
};

std::string text_of(const Checked& checked, bool mend) {
  const storage::GroupFindings& found = checked.found;
  const uint64_t causes = checked.causes();
  std::string text = fmt::format("{:<9} {}\n", checked.tier.name, checked.path);
  if (causes == 0) text += fmt::format("  all of it is group {}'s, and stays so\n", checked.group);
  if (found.other_group > 0)
    text += fmt::format("  {} of another group than {}: they count for that one's quota\n",
                        storage::counted(found.other_group, "file"), checked.group);
  if (found.not_handed_down > 0)
    text += fmt::format("  {} without setgid: what is made there is of its maker's own group\n",
                        found.not_handed_down == 1
                            ? std::string("1 directory")
                            : storage::number_text(found.not_handed_down) + " directories");
  for (const std::string& example : found.examples) text += "    " + storage::shown_path(example) + "\n";
  if (mend && causes > 0)
    text +=
        fmt::format("  mended: {} of {}\n", storage::number_text(found.mended), storage::number_text(causes));
  if (!mend && causes > 0) text += "  to mend it: minke storage doctor --mend\n";
  return text;
}

nlohmann::ordered_json json_of(const Checked& checked) {
  return {{"tier", checked.tier.name},
          {"path", checked.path},
          {"group", checked.group},
          {"other_group", checked.found.other_group},
          {"without_setgid", checked.found.not_handed_down},
          {"mended", checked.found.mended}};
}

}  // namespace

int storage_doctor(const std::string& user, bool mend, bool json) {
  const auto cluster = helpers::cluster_with_tiers();
  const auto person = helpers::person_named(user);
  if (!cluster || !person) {
    view::print_error("minke storage", (!cluster ? cluster.error() : person.error()).message);
    return 1;
  }
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  bool wrong = false;
  const auto places = helpers::tiers_of(cluster->tiers, *person, cluster->storage.project_groups);
  for (const helpers::PersonTier& place : places) {
    if (!place.tier.of_group) continue;
    Checked checked{place.tier, storage::shown_path(place.path), place.group, {}};
    if (!storage::check_groups(helpers::following(place.path), place.gid, mend, checked.found)) {
      if (!json)
        view::write_out(
            fmt::format("{:<9} {}: not there (minke storage init)\n", place.tier.name, checked.path));
      continue;
    }
    const storage::GroupFindings& found = checked.found;
    wrong |= checked.causes() > found.mended || found.failures.count() > 0;
    // Only the owners of other files can fix them; and files that cannot be read may also be wrong.
    helpers::report_errors("minke storage", found.failures.kept(), found.failures.count());
    if (json) {
      out.push_back(json_of(checked));
    } else {
      view::write_out(text_of(checked, mend));
    }
  }
  if (json) view::write_out(out.dump(2) + "\n");
  return wrong ? 1 : 0;
}

}  // namespace minke::cli
