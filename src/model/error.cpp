#include "model/error.h"

namespace minke::model {

std::string_view slurm_error_text(int code) {
  switch (code) {
    case kInvalidPartitionName:
      return "Invalid partition name specified";
    case kAccessDenied:
      return "Access/permission denied";
    case kPartitionGroup:
      return "User's group not permitted to use this partition";
    case kNodesNotInPartition:
      return "Requested nodes not in this partition";
    case kInvalidNodeCount:
      return "Node count specification invalid";
    case kJobScriptMissing:
      return "Job script not specified";
    case kInvalidUserId:
      return "Invalid user id";
    case kPathnameTooLong:
      return "Pathname of a file, directory or other parameter too long";
    case kNotTopPriority:
      return "Immediate execution impossible, insufficient priority";
    case kNodeConfigUnavailable:
      return "Requested node configuration is not available";
    case kPartitionConfigUnavailable:
      return "Requested partition configuration not available now";
    case kNodesBusy:
      return "Requested nodes are busy";
    case kInvalidJobId:
      return "Invalid job id specified";
    case kInvalidNodeName:
      return "Invalid node name specified";
    case kWritingToFile:
      return "I/O error writing script/environment to file";
    case kTransitionState:
      return "Job can not be altered now, try again later";
    case kAlreadyDone:
      return "Job/step already completing or completed";
    case kJobPending:
      return "Job is pending execution";
    case kBadTaskCount:
      return "Task count specification invalid";
    case kInvalidNodeState:
      return "Invalid node state specified";
    case kActiveFeatureNotSubset:
      return "Active features not subset of available features";
    case kInvalidFeature:
      return "Invalid feature specification";
    case kNotSupported:
      return "Requested operation not supported on this system";
    case kDisabled:
      return "Requested operation is presently disabled";
    case kDependency:
      return "Job dependency problem";
    case kBatchOnly:
      return "Only batch jobs are accepted or processed";
    case kJobHeld:
      return "Job is in held state, pending scheduler release";
    case kInvalidTaskMemory:
      return "Memory required by task is not available";
    case kInvalidAccount:
      return "Invalid account or account/partition combination specified";
    case kInvalidLicenses:
      return "Invalid license specification";
    case kAccountingPolicy:
      return "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
    case kInvalidTimeLimit:
      return "Requested time limit is invalid (missing or exceeds some limit)";
    case kReservationAccess:
      return "Access denied to requested reservation";
    case kReservationBusy:
      return "Requested reservation is in use";
    case kReservationNotUsable:
      return "Requested reservation not usable now";
    case kReservationOverlap:
      return "Requested reservation overlaps with another reservation";
    case kReservationEmpty:
      return "Reservation request lacks users, groups or accounts";
    case kReservationNameDuplicate:
      return "Duplicate reservation name";
    case kReservationNoSkip:
      return "Reservation given is not skipable, try deleting instead";
    case kPartitionInUse:
      return "Partition is in use";
    case kReservationInvalid:
      return "Requested reservation is invalid";
    case kInvalidTimeValue:
      return "Invalid time specified";
    case kInvalidQos:
      return "Invalid qos specification";
    case kNodeNotAvailable:
      return "Required node not available (down, drained or reserved)";
    case kInvalidCpuCount:
      return "CPU count specification invalid";
    case kPartitionNotAvailable:
      return "Required partition not available (inactive or drain)";
    case kTooManyCpus:
      return "More processors requested than permitted";
    case kCircularDependency:
      return "Circular job dependency";
    case kJobSuspended:
      return "Job is current suspended, requested operation disabled";
    case kJobNotSuspended:
      return "Job is not suspended";
    case kJobNotFinished:
      return "Job is not finished";
    case kPartitionDown:
      return "Partition in DOWN state";
    case kNotHetJob:
      return "Job not heterogeneous job";
    case kNotHetJobLeader:
      return "Job not heterogeneous job leader";
    case kNotWholeHetJob:
      return "Operation not permitted on individual component of heterogeneous job";
    case kInvalidGres:
      return "Invalid generic resource (gres) specification";
    case kInsufficientGres:
      return "Insufficient GRES available in allocation";
    case kJobNotPending:
      return "Job is no longer pending execution";
    case kCannotStartImmediately:
      return "Job can not start immediately";
    case kInvalidArray:
      return "Invalid job array specification";
    case kJobFinished:
      return "Job has already finished";
    case kJobNotRunning:
      return "Job is not running";
    case kJobNotPendingNorRunning:
      return "Job is not pending nor running";
    case kInternal:
      return "Slurm internal error, contact system administrator";
    case kInvalidTres:
      return "Invalid Trackable RESource (TRES) specification";
    case kInvalidTimeMin:
      return "Invalid time-min specification (exceeds job's time or other limits)";
    case kInvalidNice:
      return "Invalid --nice value";
    default:
      return {};
  }
}

}  // namespace minke::model
