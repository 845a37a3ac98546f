// Scripts that a person keeps for new jobs: files in his own configuration directory, one for each, so that
// every browser of his has them, and an editor, too. Bounded: so many, of so many bytes.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "os/files.h"
#include "portal/job_json.h"
#include "portal/page_answers.h"
#include "text/printable.h"

namespace minke::portal {
namespace {

constexpr size_t kMostTemplates = 100, kMostBytes = 64 * 1024;
constexpr std::string_view kEnding = ".sh";

Result<std::string> directory() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && config[0] == '/')
    return std::string(config) + "/minke/templates";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::string(home) + "/.config/minke/templates";
  return failure("there is no home directory to keep templates in", ENOENT);
}

// A name that is one of a file, and shows as it is.
bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 && name[0] != '.' && name.find('/') == std::string::npos &&
         text::printable(name) == name;
}

std::vector<std::string> names_in(const std::string& place) {
  std::vector<std::string> names;
  DIR* const listing = ::opendir(place.c_str());
  if (listing == nullptr) return names;
  while (const dirent* entry = ::readdir(listing)) {
    std::string name = entry->d_name;
    if (!name.ends_with(kEnding)) continue;
    name.resize(name.size() - kEnding.size());
    if (is_name(name) && names.size() < kMostTemplates) names.push_back(std::move(name));
  }
  ::closedir(listing);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> file_of(const Call& call) {
  if (!is_name(call.text("name"))) return failure("the name must be that of a file, without /", EINVAL);
  const auto place = directory();
  if (!place) return failure(place.error());
  return *place + "/" + call.text("name") + std::string(kEnding);
}

}  // namespace

Result<Reply> list_templates(Call&) {
  const auto place = directory();
  Json list = Json::array();
  if (place)
    for (const std::string& name : names_in(*place))
      if (const auto script = os::read_file(*place + "/" + name + std::string(kEnding), kMostBytes))
        list.push_back({{"name", name}, {"script", text::printable_lines(*script)}});
  return json_reply({{"templates", std::move(list)}});
}

Result<Reply> keep_template(Call& call) {
  const auto file = file_of(call);
  if (!file) return failure(file.error());
  const std::string place = file->substr(0, file->rfind('/'));
  const std::vector<std::string> names = names_in(place);
  const bool is_there = std::find(names.begin(), names.end(), call.text("name")) != names.end();
  if (!is_there && names.size() >= kMostTemplates)
    return failure("there are " + std::to_string(kMostTemplates) + " templates already: remove one", EINVAL);
  if (const Status made = os::make_directories(place, 0700); !made) return failure(made.error());
  if (const Status kept = os::replace_file(*file, call.text("script"), 0600); !kept)
    return failure(kept.error());
  return json_reply({{"changed", 1}});
}

Result<Reply> remove_template(Call& call) {
  const auto file = file_of(call);
  if (!file) return failure(file.error());
  if (::unlink(file->c_str()) != 0) {
    const int error = errno;
    return failure(error == ENOENT ? "there is no such template" : std::strerror(error), error);
  }
  return json_reply({{"changed", 1}});
}

}  // namespace minke::portal
