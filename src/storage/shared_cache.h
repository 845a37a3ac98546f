// A cache of staged data for all users of a node, kept by root (cli/storage/stage_server.cpp). Entries are as
// in staging.h, but a stranger makes them: a user id that nobody has. So a program that unpacks an archive
// can do no harm, and no user can put anything of their own into what others will read.
//
// Access: a user hands over an open descriptor of the source. That it is open for reading proves that the
// user may read it; no path of a user is opened. A tree is shared only if the stranger can read all of it:
// then everybody who reaches its root can. An entry's directory admits the users whose jobs use it (an ACL),
// and nobody else. Everything in it belongs to root, read-only, without setuid.
//
// A squashfs image is not unpacked but mounted, if the kernel can: in this process's mount namespace, and in
// that of the caller, with execution disabled. It is unmounted when no job uses it any more. A user's jobs
// may have only so many mounted at a time; further images are unpacked.
//
// Bounds: an entry is charged to the user who had it brought (`charge` in it: "UID BYTES"), whoever uses
// it later. Each user has a quota for that; entries that no job uses are removed before anything is
// refused. An archive that grows beyond what is left is stopped while it is unpacked. Only a job keeps an
// entry: the directory of a job, "job" and a number, in root's directory of them. A twentieth of the disk,
// at most 10 GiB, stays free.
//
// Any number of processes, each root's and for one request; blocking.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace minke::storage {

struct SharedRequest {
  uid_t uid = 0;           // the caller
  int source = -1;         // of a file or directory
  pid_t process = 0;       // a process of the caller; 0: not known
  int job_directory = -1;  // of a job of the caller; while it is there, the entry stays
  std::string name;        // the source's last component
};
struct SharedEntry {
  std::string content;  // its path
  bool cached = false;  // whether it was there already
};

// `tmp_root` is root's directory of jobs' directories. `quota` is the bytes that one user's entries may take;
// 0: a tenth of the disk. Errors: EACCES: it cannot be shared; EDQUOT; ENOSPC; the message of unpacking.
Result<SharedEntry> stage_shared(const std::string& tmp_root, const SharedRequest& request,
                                 uint64_t quota = 0);

// Removes mounts of jobs that are gone; with `abandoned`, also what others have left unfinished. Returns how
// many images stay mounted.
size_t tidy_shared(const std::string& tmp_root, bool abandoned);

}  // namespace minke::storage
