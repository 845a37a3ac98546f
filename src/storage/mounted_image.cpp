#include "storage/mounted_image.h"

#include <sys/stat.h>

#include "storage/run_program.h"

namespace minke::storage {

bool is_mounted(const std::string& directory) {
  struct stat above {
  }, own{};
  return ::stat((directory + "/..").c_str(), &above) == 0 && ::stat(directory.c_str(), &own) == 0 &&
         above.st_dev != own.st_dev;
}

Status mount_by_kernel(const std::string& image, const std::string& directory) {
  return run_program({"mount", "-t", "squashfs", "-o", "loop,ro,nosuid,nodev", image, directory});
}

Status mount_by_squashfuse(const std::string& image, const std::string& directory) {
  return run_program({"env", "--ignore-signal=HUP,INT,QUIT,TERM", "squashfuse_ll", "-o", "ro,nosuid,nodev",
                      image, directory});
}

}  // namespace minke::storage
