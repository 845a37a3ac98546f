// The test program can also be a launcher, so that tests run real ones: node_test launcher --home DIR
// [--no-child-list].
#include <gtest/gtest.h>

#include <cstring>

#include "node/launcher.h"

int main(int argc, char** argv) {
  if (argc >= 4 && std::strcmp(argv[1], "launcher") == 0) {
    minke::node::LauncherOptions options;
    options.home = argv[3];
    options.use_kernel_child_list = argc < 5;
    return minke::node::run_launcher(options);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
