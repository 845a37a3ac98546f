// The inodes of an XFS, by its own request for all of them (ioctl_xfs_bulkstat(2)), a thread for each part of
// the disk. Inodes lack the sizes of what the kernel has still to write, so that is written first.
#include <sys/stat.h>
#include <unistd.h>
#include <xfs/xfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "storage/inode_tables.h"

namespace minke::storage {

namespace {

constexpr uint32_t kAtOnce = 1024;

struct Free {
  void operator()(void* memory) const { ::operator delete(memory); }
};
using Request = std::unique_ptr<xfs_bulkstat_req, Free>;

Request request_for(uint32_t count) {
  const size_t bytes = XFS_BULKSTAT_REQ_SIZE(count);
  Request request(static_cast<xfs_bulkstat_req*>(::operator new(bytes)));
  std::fill_n(reinterpret_cast<char*>(request.get()), bytes, '\0');
  request->hdr.icount = count;
  return request;
}

TableInode decode(const xfs_bulkstat& found) {
  TableInode inode;
  inode.number = found.bs_ino;
  inode.mode = found.bs_mode;
  inode.uid = found.bs_uid;
  inode.gid = found.bs_gid;
  inode.links = found.bs_nlink;
  inode.size = found.bs_size;
  inode.space = found.bs_blocks * found.bs_blksize;
  inode.atime = found.bs_atime;
  inode.ctime = found.bs_ctime;
  return inode;
}

}  // namespace

Status scan_xfs(int root, const BeginInodes& begin, const TakeInode& take) {
  xfs_fsop_geom geometry{};
  struct stat status {};
  const Request first = request_for(1);
  first->hdr.flags = XFS_BULK_IREQ_SPECIAL;
  first->hdr.ino = XFS_BULK_IREQ_SPECIAL_ROOT;
  if (::fstat(root, &status) != 0 || ::ioctl(root, XFS_IOC_FSGEOMETRY, &geometry) != 0 ||
      ::ioctl(root, XFS_IOC_BULKSTAT, first.get()) != 0)
    return failure("the inodes of this XFS cannot be asked for", EOPNOTSUPP);
  if (first->hdr.ocount != 1 || first->bulkstat[0].bs_ino != status.st_ino)
    return failure("it is not the root of its XFS", EOPNOTSUPP);
  if (::syncfs(root) != 0) return failure_from_errno("writing to the disk", errno);
  const unsigned workers =
      std::clamp(std::thread::hardware_concurrency() * 2, 1U, std::max(1U, geometry.agcount));
  begin(workers);
  std::atomic<uint32_t> next{0};
  std::atomic<int> failed{0};
  const auto work = [&](unsigned worker) {
    const Request request = request_for(kAtOnce);
    for (uint32_t group; (group = next.fetch_add(1)) < geometry.agcount && failed == 0;) {
      request->hdr.flags = XFS_BULK_IREQ_AGNO;
      request->hdr.agno = group;
      request->hdr.ino = 0;  // the kernel advances it
      for (;;) {
        if (::ioctl(root, XFS_IOC_BULKSTAT, request.get()) != 0) {
          if (errno == EINTR) continue;
          failed = errno;
          return;
        }
        if (request->hdr.ocount == 0) break;
        for (uint32_t i = 0; i < request->hdr.ocount; ++i)
          if (request->bulkstat[i].bs_nlink != 0) take(worker, decode(request->bulkstat[i]));
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
  work(0);
  for (std::thread& thread : threads) thread.join();
  return failed == 0 ? Status() : failure_from_errno("the inodes of an XFS", failed);
}

}  // namespace minke::storage
