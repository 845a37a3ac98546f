#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "helpers/containers/gpu_files.h"
#include "helpers/containers/image.h"

namespace minke::helpers {
namespace {

using ::testing::ElementsAre;

TEST(ImageVariables, OfEnrootAndOfApptainer) {
  EXPECT_THAT(
      variables_in("A=1\nB=\"two words\"\n# c\n1X=no\nexport D='d'\nexport E=\"${E:-\"e\"}\"\nF=$(rm x)\n"),
      ElementsAre("A=1", "B=two words", "D=d", "E=e"));
}

TEST(Sif, ThePartitionsPlaceIsReadAndOddOnesAreNone) {
  std::string bytes(128 + 585, '\0');
  bytes.replace(32, 9, "SIF_MAGIC");
  bytes[88] = 1;
  bytes[96] = static_cast<char>(128);
  bytes[128] = 4;
  bytes[129] = 0x40;
  bytes[132] = 1;
  bytes[128 + 18] = 16;
  bytes[128 + 201] = 1;
  EXPECT_EQ(squashfs_in_sif(bytes), 4096u);
  EXPECT_FALSE(squashfs_in_sif(bytes.substr(0, 400)));
  for (size_t i = 88; i < 104; ++i) bytes[i] = '\xff';
  EXPECT_FALSE(squashfs_in_sif(bytes));
  EXPECT_FALSE(squashfs_in_sif("#!/usr/bin/env run-singularity"));
}

TEST(GpuFiles, TheDriverAndNothingElse) {
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.570.1", "libnvcuvid.so.1"})
    EXPECT_TRUE(is_driver_library(name)) << name;
  for (const char* name : {"libcudart.so.12", "libc.so.6", "libnvidia-ml", "libcublas.so"})
    EXPECT_FALSE(is_driver_library(name)) << name;
  std::vector<std::string> environment = {"PATH=/bin"};
  add_driver("/n", environment);
  EXPECT_THAT(environment, ElementsAre("PATH=/bin:/n/bin", "LD_LIBRARY_PATH=/n/lib64"));
}

}  // namespace
}  // namespace minke::helpers
