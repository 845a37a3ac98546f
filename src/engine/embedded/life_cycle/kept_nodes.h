// What becomes of a running job that goes on with a part of its nodes (actions_resize.cpp). State's thread.
#pragma once

#include "base/result.h"
#include "model/allocation.pb.h"

namespace minke::engine {

struct Core;
struct Job;

using NodeList = google::protobuf::RepeatedPtrField<model::NodeAllocation>;

// The job keeps these of its nodes and gives back the others. Refused, with nothing done, where its script's
// node is not among them.
Status keep_nodes(Core& core, Job& job, NodeList kept);

}  // namespace minke::engine
