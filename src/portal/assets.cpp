#include "portal/assets.h"

#include <map>

#include "text/number.h"

// The path of what tools/pack_web.mjs wrote (CMakeLists.txt): lines "PATH TYPE TAG SIZE", an empty one, and
// the files' bytes one after the other. Tools that only look at the source have none.
#ifndef MINKE_WEB
#define MINKE_WEB "/dev/null"
#endif
__asm__(
    ".pushsection .rodata\n"
    ".global minke_portal_web\n"
    "minke_portal_web:\n"
    ".incbin \"" MINKE_WEB
    "\"\n"
    ".global minke_portal_web_end\n"
    "minke_portal_web_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char minke_portal_web[], minke_portal_web_end[];

namespace minke::portal {
namespace {

using Assets = std::map<std::string_view, Asset>;

Assets read_assets() {
  const std::string_view all(minke_portal_web, static_cast<size_t>(minke_portal_web_end - minke_portal_web));
  Assets assets;
  const size_t end = all.find("\n\n");
  if (end == std::string_view::npos) return assets;
  std::string_view bytes = all.substr(end + 2);
  for (const std::string_view line : text::split(all.substr(0, end), '\n')) {
    const auto words = text::split(line, ' ');
    if (words.size() != 4) continue;
    const size_t size = static_cast<size_t>(text::parse_unsigned(words[3]).value_or(0));
    assets[words[0]] = {words[0], words[1], bytes.substr(0, size), words[2]};
    bytes.remove_prefix(size);
  }
  return assets;
}

const Assets& assets() {
  static const Assets all = read_assets();
  return all;
}

}  // namespace

const Asset* find_asset(std::string_view path) {
  const auto found = assets().find(path);
  return found == assets().end() ? nullptr : &found->second;
}

bool has_front_end() {
  return !assets().empty();
}

}  // namespace minke::portal
