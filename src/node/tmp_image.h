// A job's $SLURM_TMPDIR (and private /tmp) of a limited size: a file system of its own in a file, on the disk
// that the administrator names. It needs nothing of that disk's file system, no user can widen it, and it is
// removed at once, however many files there are in it.
//
// For the job directory PATH: PATH.img is the file, sparse; PATH.disk, root's, is where it is mounted, with
// `own` and `tmp` in it, the user's; PATH shows `own`. All of that lies in a directory of root's. Needs root,
// and a kernel with loop devices and ext4. After a crash or a reboot remove_tmp_image() clears what is left.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "node/tmp_dir.h"

namespace minke::node {

// An empty file system of so many bytes, which those of jobs are copied from; made where it is not there
// yet, and mounted once to see that it can be. Takes a fraction of a second. Errors: what is missing.
Status make_tmp_image_template(const std::string& directory, uint64_t bytes);

// Milliseconds. On errors nothing is left. The template must be there, next to PATH.
Status make_tmp_image(const std::string& path, uint64_t bytes, const Owner& owner);
// The directory in it that is for the job's private /tmp.
std::string tmp_image_private(const std::string& path);

bool has_tmp_image(const std::string& path);
// Whoever calls waits until what was written has reached the disk: the launcher does it in a process of its
// own. Nothing may use it any more.
Status remove_tmp_image(const std::string& path);
// The same where nothing can be mounted: it needs no right to unmount.
Status remove_unmounted_tmp_image(const std::string& path);

}  // namespace minke::node
