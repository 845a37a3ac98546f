#include "os/trusted_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <string_view>

namespace minke::os {

namespace {

constexpr int kMostLinks = 40;  // as in the kernel

void add_words(std::string_view path, std::deque<std::string>& words) {
  std::deque<std::string> found;
  while (!path.empty()) {
    const std::string_view word = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), word.size() + 1));
    if (!word.empty() && word != ".") found.emplace_back(word);
  }
  words.insert(words.begin(), found.begin(), found.end());
}

}  // namespace

Status check_only_root_changes(const std::string& path) {
  if (path.empty() || path.front() != '/') return failure(path + " is no absolute path", EINVAL);
  std::deque<std::string> words;
  add_words(path, words);
  std::string at;  // the checked part, without links
  int links = 0;
  for (bool more = true; more;) {
    struct stat info {};
    const std::string& shown = at.empty() ? "/" : at;
    if (::lstat(shown.c_str(), &info) != 0) return failure_from_errno(shown, errno);
    // The mode of a link means nothing: any user who may write to its directory may replace it.
    if (info.st_uid != 0 || (!S_ISLNK(info.st_mode) && (info.st_mode & 0022) != 0))
      return failure(shown + " must be root's, and nobody else may write to it", EPERM);
    if (S_ISLNK(info.st_mode)) {
      char target[PATH_MAX];
      const ssize_t length = ::readlink(at.c_str(), target, sizeof target);
      if (length < 0) return failure_from_errno(at, errno);
      if (++links > kMostLinks) return failure_from_errno(path, ELOOP);
      add_words({target, static_cast<size_t>(length)}, words);
      at = target[0] == '/' ? "" : at.substr(0, at.rfind('/'));
      continue;
    }
    more = !words.empty();
    if (!more) break;
    if (words.front() == "..") {
      at = at.substr(0, at.empty() ? 0 : at.rfind('/'));
    } else {
      at += "/" + words.front();
    }
    words.pop_front();
  }
  return {};
}

}  // namespace minke::os
