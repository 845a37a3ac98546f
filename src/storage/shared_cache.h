// A cache of staged data for all users of a node, kept by root (cli/storage/stage_server.cpp). Entries are as
// in staging.h, and made by a stranger: a user id that is nobody's, so that what unpacks an archive can do no
// harm, and no user can put something of his own into what others will read.
//
// Who may have what: a user hands over an open descriptor of the source. That it is open for reading is the
// proof that he may read it; nothing is opened by a path of his. A tree is only shared where the stranger can
// read all of it: then everybody can, who comes to its root. An entry's directory lets in those whose jobs
// use it (an ACL), nobody else. Everything in it belongs to root, read-only, without setuid.
//
// A squashfs image is not unpacked but mounted, where the kernel can: in this process's mount namespace, and
// in that of who asks, in which nothing is executed. It is unmounted when no job uses it any more, and a
// user's jobs have only so many at a time: what is beyond that is unpacked.
//
// Bounds: what an entry takes is charged to who had it brought (`charge` in it: "UID BYTES"), whoever uses it
// later. What he has brought takes a quota at most; entries that no job uses go before anything is refused.
// An archive that becomes more than is left is stopped while it is unpacked. An entry stays for jobs alone:
// the directory of a job, "job" and a number, in root's directory of them. A twentieth of the disk, 10 GiB at
// most, stays free.
//
// Any number of processes, each root's and for one request; blocking.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace minke::storage {

struct SharedRequest {
  uid_t uid = 0;           // who asks
  int source = -1;         // of a file or directory
  pid_t process = 0;       // of his; 0: not known
  int job_directory = -1;  // of a job of his; while it is there, the entry stays
  std::string name;        // the source's last component
};
struct SharedEntry {
  std::string content;  // its path
  bool cached = false;  // it was there already
};

// `tmp_root`: where the directories of jobs are, root's. `quota`: bytes that what one user had brought may
// take; 0: a tenth of the disk. Errors: EACCES: it is not for sharing; EDQUOT; ENOSPC; what unpacking said.
Result<SharedEntry> stage_shared(const std::string& tmp_root, const SharedRequest& request,
                                 uint64_t quota = 0);

// Clears away what is mounted for jobs that are gone; `abandoned`: what others have left unfinished, too.
// Returns how many images stay mounted.
size_t tidy_shared(const std::string& tmp_root, bool abandoned);

}  // namespace minke::storage
