// Decides what a directory of data is, where it should live and how it should be read: the rules that
// clusters give for machine learning. Pure; any thread.
//
// Up to 10 GB fit into a job's memory. Up to 100 GB fit onto a node's local disk, from which the job reads
// them. Larger data stays in shared storage, which the job reads in large pieces, now and then. Many small
// files belong in a few large ones: quotas count files, and shared storage is slow at opening them.
#pragma once

#include <string>

#include "storage/usage_scan.h"

namespace minke::storage {

enum class Form { kAsIs, kTar, kSquashfs, kWebDataset };
enum class Reading { kMemory, kLocalDisk, kShared };

struct Advice {
  Form form = Form::kAsIs;
  Reading reading = Reading::kMemory;
  bool compress = false;    // its files are not compressed already
  bool many_files = false;  // more than quotas like, or mostly small ones
  uint64_t mean_bytes = 0;  // of a regular file
};

// `squashfs`: whether this machine can make such an image.
Advice advise(const Usage& usage, bool squashfs);

}  // namespace minke::storage
