// A $SLURM_TMPDIR (and private /tmp) of limited size: a file system in a file, on a disk that the
// administrator names. The disk may have any file system. No user can enlarge the image, and its removal is
// fast, however many files it has.
//
// For the job directory PATH, PATH.img is the sparse file. PATH.disk, root's, is its mount point, with the
// user's directories `own` and `tmp`. PATH shows `own`. All of it lies in a directory of root's. Needs root,
// loop devices and ext4. After a crash or reboot, remove_tmp_image() clears what is left.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "node/tmp_dir.h"

namespace minke::node {

// Makes an empty file system of `bytes` bytes, the template of jobs' file systems, if there is none yet, and
// mounts it once as a test. Takes a fraction of a second. Errors: what is missing.
Status make_tmp_image_template(const std::string& directory, uint64_t bytes);

// Takes milliseconds. Leaves nothing on an error. The template must exist beside PATH.
Status make_tmp_image(const std::string& path, uint64_t bytes, const Owner& owner);
// The directory in it for the job's private /tmp.
std::string tmp_image_private(const std::string& path);

bool has_tmp_image(const std::string& path);
// Blocks until all written data has reached the disk, so the launcher calls it in a child process. Nothing
// may use the file system any more.
Status remove_tmp_image(const std::string& path);
// The same if nothing can be mounted: it needs no right to unmount.
Status remove_unmounted_tmp_image(const std::string& path);

}  // namespace minke::node
