// `minke container` precedes the program of a script or of a task that runs in a container, as the process
// that the program becomes. It has the rights of the job's user; nothing of the bundle or of the image is
// read by any other process of the cluster's.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "helpers/containers/bundle.h"
#include "helpers/containers/image.h"
#include "helpers/programs.h"

namespace minke::helpers {

namespace {

struct Words {
  std::string bundle;
  ImageOptions image;
  bool script = false;
};

// Returns the position of "--", which ends them; argc if it is missing.
int read_words(int argc, char** argv, Words& words) {
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    const std::string_view word = argv[at];
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string value(equals == std::string_view::npos ? "" : word.substr(equals + 1));
    if (name == "--bundle") words.bundle = value;
    if (name == "--image") words.image.image = value;
    if (name == "--name") words.image.name = value;
    if (name == "--workdir") words.image.work_dir = value;
    if (name == "--mount") words.image.mounts.push_back(value);
    if (name == "--keep") words.image.keep.push_back(value);
    if (name == "--home") words.image.home = true;
    if (name == "--root") words.image.as_root = true;
    if (name == "--writable") words.image.writable = true;
    if (name == "--readonly") words.image.writable = false;
    if (name == "--script") words.script = true;
  }
  return at;
}

}  // namespace

int container_main(int argc, char** argv) {
  Words words;
  const int at = read_words(argc, argv, words);
  if (at + 1 >= argc) {
    std::fputs("minke container is for the cluster's own use\n", stderr);
    return 1;
  }
  std::vector<std::string> arguments(argv + at + 1, argv + argc);
  const Status failed = words.bundle.empty() ? run_image(words.image, std::move(arguments), words.script)
                                             : run_bundle(words.bundle, std::move(arguments), words.script);
  std::fprintf(stderr, "slurmstepd: error: container: %s\n", failed.error().message.c_str());
  return 1;
}

}  // namespace minke::helpers
