#include "software/resolve.h"

#include <algorithm>

#include "software/version.h"
#include "text/number.h"

namespace minke::software {

namespace {

constexpr int kMaxDepth = 5;  // aliases of aliases

class Resolver {
 public:
  Resolver(const Available& available, const Aliases& own) : available_(available), own_(own) {}

  Resolved run(const std::vector<std::string>& wanted) {
    for (const std::string& module : wanted) add(module, module, "", 0);
    return std::move(resolved_);
  }

 private:
  // `asked` is the script's name; an alias may have turned it into `module`.
  void add(const std::string& module, const std::string& asked, const std::string& reason, int depth) {
    const auto [name, version] = parted(module);
    if (const Alias* alias = find_alias(own_, module); alias != nullptr && depth < kMaxDepth) {
      if (follow(*alias, asked, depth)) return;
    }
    const auto known = available_.find(name);
    if (known != available_.end()) {
      const std::string found = version_of(name, version, known->second);
      if (found.empty())
        return take(module, asked, reason);  // it exists, or Lmod chooses, or nobody knows it
      return take(found, asked, reason);
    }
    if (const Alias* alias = find_alias(well_known_aliases(), module);
        alias != nullptr && depth < kMaxDepth && module == asked) {
      if (follow(*alias, asked, depth)) return;
    }
    // EasyBuild writes Python and GCC.
    for (const auto& [other, versions] : available_) {
      if (other != name && text::equals_ignoring_case(other, name)) {
        const std::string found = version_of(other, version, versions);
        return take(found.empty() ? other + (version.empty() ? "" : "/" + version) : found, asked, reason);
      }
    }
    take(asked, asked, "");
  }

  bool follow(const Alias& alias, const std::string& asked, int depth) {
    if (alias.targets.empty()) {
      resolved_.notes.push_back(asked + ": nothing to load here" +
                                (alias.reason.empty() ? "" : " (" + alias.reason + ")"));
      return true;
    }
    // Follows an alias only if it leads to a module: otherwise Lmod's own message has the script's name.
    const bool all = std::all_of(alias.targets.begin(), alias.targets.end(), [&](const std::string& target) {
      const std::string name = parted(target).first;
      return available_.contains(name) || find_alias(own_, target) != nullptr;
    });
    if (!all) return false;
    for (const std::string& target : alias.targets) {
      if (target == asked || parted(target).first == parted(asked).first) {
        const auto known = available_.find(parted(target).first);
        const std::string found =
            known == available_.end() ? "" : version_of(known->first, parted(target).second, known->second);
        take(found.empty() ? target : found, asked, alias.reason);
      } else {
        add(target, asked, alias.reason, depth + 1);
      }
    }
    return true;
  }

  void take(const std::string& module, const std::string& asked, const std::string& reason) {
    if (std::find(resolved_.modules.begin(), resolved_.modules.end(), module) == resolved_.modules.end())
      resolved_.modules.push_back(module);
    if (module == asked) return;
    resolved_.notes.push_back(asked + " is not here: " + module + " instead" +
                              (reason.empty() ? "" : " (" + reason + ")"));
  }

  static std::pair<std::string, std::string> parted(const std::string& module) {
    const size_t slash = module.find('/');
    if (slash == std::string::npos) return {module, ""};
    return {module.substr(0, slash), module.substr(slash + 1)};
  }

  // Returns "name/version" of the nearest version; empty if that version exists, or none will do.
  static std::string version_of(const std::string& name, const std::string& version,
                                const std::vector<std::string>& versions) {
    if (version.empty()) return "";
    for (const std::string& one : versions) {
      if (names_version(version, one)) return "";
    }
    const auto nearest =
        nearest_version(version, versions, name == "python");  // Python 2 is another language
    return nearest ? name + "/" + *nearest : "";
  }

  const Available& available_;
  const Aliases& own_;
  Resolved resolved_;
};

}  // namespace

Resolved resolve(const std::vector<std::string>& wanted, const Available& available, const Aliases& own) {
  Resolved all;
  std::vector<std::string> plain;
  for (const std::string& module : wanted) {
    if (module.empty() || module[0] == '-' || !is_module_name(module)) {
      all.modules.push_back(module);
    } else {
      plain.push_back(module);
    }
  }
  Resolved rest = Resolver(available, own).run(plain);
  all.modules.insert(all.modules.end(), rest.modules.begin(), rest.modules.end());
  all.notes = std::move(rest.notes);
  return all;
}

}  // namespace minke::software
