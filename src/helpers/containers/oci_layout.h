// Images in an OCI layout (a directory with index.json and blobs), and the unpacking of any image. Layers are
// archives of strangers, in which links may lead anywhere: they are unpacked where all but the target is
// read-only. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "helpers/containers/image.h"

namespace minke::helpers {

struct OciImage {
  std::vector<std::string> layers;  // files, the lowest first
  ImageSettings settings;
};

// `tag`: empty where the layout holds one image. Reads only.
Result<OciImage> read_oci_layout(const std::string& directory, const std::string& tag);

// Runs `work` in a process that can write to `directory` alone, as a root without rights outside.
Status work_confined(const std::string& directory, const std::function<Status()>& work);

// Puts one layer over what is in the directory: what it hides goes first. Only within work_confined.
Status apply_layer(const std::string& layer, const std::string& directory);

}  // namespace minke::helpers
