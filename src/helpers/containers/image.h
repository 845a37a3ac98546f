// An image that a script or a task runs in, as pyxis and enroot do it: its files are the root directory of a
// namespace of mounts; processes, network and user are the job's. The program becomes this process, so that
// signals, streams, control groups and accounting are those of any task, and nothing is left when it ends.
// All is done with the rights of the job's user. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "helpers/containers/own_namespaces.h"

namespace minke::helpers {

struct ImageOptions {
  std::string image, name, work_dir;
  std::vector<std::string> mounts;  // "/SRC:/DST[:FLAGS]"
  std::vector<std::string> keep;    // variables
  bool home = false, as_root = false;
  std::optional<bool> writable;
};

// Does not return unless it fails.
Status run_image(const ImageOptions& options, std::vector<std::string> arguments, bool script);

// What an image says of the programs that run in it.
struct ImageSettings {
  std::vector<std::string> environment;  // NAME=VALUE
  std::string work_dir;
};

// The lines NAME=VALUE of enroot's /etc/environment, or `export NAME="VALUE"` of Apptainer's. Pure.
std::vector<std::string> variables_in(const std::string& text);

// Where an image's files are.
struct ImageFiles {
  std::string directory;  // unpacked; empty: `squashfs` is to be mounted
  std::string squashfs;
  uint64_t offset = 0;  // of the file system in that file
  ImageSettings settings;
};

// Unpacks it below `place` once for all tasks, unless it can be mounted as it is; a named one always.
// Errors: what is missing, and what to install or write.
Result<ImageFiles> find_image(const ImageOptions& options, const std::string& place);

// Where the first file system of squashfs begins in an Apptainer file's first bytes. Pure.
std::optional<uint64_t> squashfs_in_sif(std::string_view bytes);

}  // namespace minke::helpers
