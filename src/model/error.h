// Slurm's error numbers that the daemon answers with, and their texts: programs that drive Slurm parse them.
// Numbers from slurm_errno.h. Pure.
#pragma once

#include <string_view>

namespace minke::model {

enum SlurmError : int {
  kInvalidPartitionName = 2000,
  kAccessDenied = 2002,
  kPartitionGroup = 2003,
  kNodesNotInPartition = 2004,
  kTooManyCpus = 2005,
  kInvalidNodeCount = 2006,
  kJobScriptMissing = 2009,
  kPathnameTooLong = 2012,
  kNotTopPriority = 2013,
  kNodeConfigUnavailable = 2014,
  kPartitionConfigUnavailable = 2015,
  kNodesBusy = 2016,
  kInvalidJobId = 2017,
  kInvalidNodeName = 2018,
  kWritingToFile = 2019,
  kTransitionState = 2020,
  kAlreadyDone = 2021,
  kJobPending = 2024,
  kBadTaskCount = 2025,
  kInvalidNodeState = 2028,
  kActiveFeatureNotSubset = 2031,
  kInvalidFeature = 2029,
  kNotSupported = 2036,
  kDisabled = 2037,
  kDependency = 2038,
  kBatchOnly = 2039,
  kJobHeld = 2042,
  kInvalidTaskMemory = 2044,
  kInvalidAccount = 2045,
  kInvalidLicenses = 2048,
  kAccountingPolicy = 2050,
  kInvalidTimeLimit = 2051,
  kReservationAccess = 2052,
  kReservationInvalid = 2053,
  kInvalidTimeValue = 2054,
  kReservationBusy = 2055,
  kReservationNotUsable = 2056,
  kReservationOverlap = 2058,
  kInvalidQos = 2066,
  kNodeNotAvailable = 2068,
  kInvalidCpuCount = 2069,
  kPartitionNotAvailable = 2070,
  kCircularDependency = 2071,
  kInvalidGres = 2072,
  kJobNotPending = 2073,
  kPartitionInUse = 2075,
  kJobSuspended = 2077,
  kCannotStartImmediately = 2078,
  kReservationEmpty = 2080,
  kInvalidArray = 2081,
  kReservationNameDuplicate = 2082,
  kJobFinished = 2084,
  kJobNotRunning = 2085,
  kJobNotPendingNorRunning = 2086,
  kJobNotSuspended = 2087,
  kJobNotFinished = 2088,
  kInternal = 2090,
  kNotHetJob = 2106,
  kNotHetJobLeader = 2107,
  kNotWholeHetJob = 2108,
  kInvalidTres = 2115,
  kReservationNoSkip = 2128,
  kInvalidNice = 2123,
  kInsufficientGres = 2134,
};

// Slurm's own words for the number; empty for one that is not Slurm's.
std::string_view slurm_error_text(int code);

}  // namespace minke::model
