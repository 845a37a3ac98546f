#include "model/error.h"

#include <algorithm>
#include <array>

namespace minke::model {
namespace {

struct ErrorText {
  SlurmError code;
  std::string_view text;
};
constexpr auto kErrorTexts = std::to_array<ErrorText>({
    {kInvalidPartitionName, "Invalid partition name specified"},
    {kAccessDenied, "Access/permission denied"},
    {kPartitionGroup, "User's group not permitted to use this partition"},
    {kNodesNotInPartition, "Requested nodes not in this partition"},
    {kInvalidNodeCount, "Node count specification invalid"},
    {kJobScriptMissing, "Job script not specified"},
    {kInvalidUserId, "Invalid user id"},
    {kPathnameTooLong, "Pathname of a file, directory or other parameter too long"},
    {kNotTopPriority, "Immediate execution impossible, insufficient priority"},
    {kNodeConfigUnavailable, "Requested node configuration is not available"},
    {kPartitionConfigUnavailable, "Requested partition configuration not available now"},
    {kNodesBusy, "Requested nodes are busy"},
    {kInvalidJobId, "Invalid job id specified"},
    {kInvalidNodeName, "Invalid node name specified"},
    {kWritingToFile, "I/O error writing script/environment to file"},
    {kTransitionState, "Job can not be altered now, try again later"},
    {kAlreadyDone, "Job/step already completing or completed"},
    {kJobPending, "Job is pending execution"},
    {kBadTaskCount, "Task count specification invalid"},
    {kInvalidNodeState, "Invalid node state specified"},
    {kActiveFeatureNotSubset, "Active features not subset of available features"},
    {kInvalidFeature, "Invalid feature specification"},
    {kInvalidPrefer, "Invalid preferred feature specification"},
    {kNotSupported, "Requested operation not supported on this system"},
    {kDisabled, "Requested operation is presently disabled"},
    {kDependency, "Job dependency problem"},
    {kBatchOnly, "Only batch jobs are accepted or processed"},
    {kJobHeld, "Job is in held state, pending scheduler release"},
    {kInvalidTaskMemory, "Memory required by task is not available"},
    {kInvalidAccount, "Invalid account or account/partition combination specified"},
    {kInvalidLicenses, "Invalid license specification"},
    {kAccountingPolicy,
     "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"},
    {kInvalidTimeLimit, "Requested time limit is invalid (missing or exceeds some limit)"},
    {kReservationAccess, "Access denied to requested reservation"},
    {kReservationBusy, "Requested reservation is in use"},
    {kReservationNotUsable, "Requested reservation not usable now"},
    {kReservationOverlap, "Requested reservation overlaps with another reservation"},
    {kReservationEmpty, "Reservation request lacks users, groups or accounts"},
    {kReservationNameDuplicate, "Duplicate reservation name"},
    {kReservationNoSkip, "Reservation given is not skipable, try deleting instead"},
    {kPartitionInUse, "Partition is in use"},
    {kCronJob, "Cannot modify scrontab jobs through scontrol"},
    {kCancelCronJob, "Cannot cancel scrontab jobs without --cron flag."},
    {kReservationInvalid, "Requested reservation is invalid"},
    {kInvalidTimeValue, "Invalid time specified"},
    {kInvalidQos, "Invalid qos specification"},
    {kNodeNotAvailable, "Required node not available (down, drained or reserved)"},
    {kInvalidCpuCount, "CPU count specification invalid"},
    {kPartitionNotAvailable, "Required partition not available (inactive or drain)"},
    {kTooManyCpus, "More processors requested than permitted"},
    {kCircularDependency, "Circular job dependency"},
    {kJobSuspended, "Job is current suspended, requested operation disabled"},
    {kJobNotSuspended, "Job is not suspended"},
    {kJobNotFinished, "Job is not finished"},
    {kPartitionDown, "Partition in DOWN state"},
    {kNotHetJob, "Job not heterogeneous job"},
    {kNotHetJobLeader, "Job not heterogeneous job leader"},
    {kNotWholeHetJob, "Operation not permitted on individual component of heterogeneous job"},
    {kInvalidGres, "Invalid generic resource (gres) specification"},
    {kInsufficientGres, "Insufficient GRES available in allocation"},
    {kJobNotPending, "Job is no longer pending execution"},
    {kCannotStartImmediately, "Job can not start immediately"},
    {kInvalidArray, "Invalid job array specification"},
    {kJobFinished, "Job has already finished"},
    {kJobNotRunning, "Job is not running"},
    {kJobNotPendingNorRunning, "Job is not pending nor running"},
    {kInternal, "Slurm internal error, contact system administrator"},
    {kInvalidTres, "Invalid Trackable RESource (TRES) specification"},
    {kInvalidTimeMin, "Invalid time-min specification (exceeds job's time or other limits)"},
    {kInvalidNice, "Invalid --nice value"},
});

}  // namespace

std::string_view slurm_error_text(int code) {
  const auto* found = std::ranges::find(kErrorTexts, code, &ErrorText::code);
  return found == kErrorTexts.end() ? std::string_view() : found->text;
}

}  // namespace minke::model
