// The values that shells offer for several commands (Option::values). The cluster is asked for names when
// the user presses Tab.
#pragma once

#include <string_view>

namespace minke::options {

inline constexpr std::string_view kFiles = "FILE";
inline constexpr std::string_view kDirectories = "DIRECTORY";
inline constexpr std::string_view kAccountNames = "$sacctmgr -nP list account format=account | sort -u";
inline constexpr std::string_view kJobIds = "$squeue --me -h -o %A";
inline constexpr std::string_view kJobStates =
    "all PENDING RUNNING SUSPENDED COMPLETING COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED "
    "BOOT_FAIL "
    "DEADLINE OUT_OF_MEMORY REQUEUED";
inline constexpr std::string_view kNodeNames = "$sinfo -h -N -o %N | sort -u";
inline constexpr std::string_view kNodeStates =
    "alloc comp down drain drained draining fail idle maint mix reboot resv";
inline constexpr std::string_view kPartitionNames = "$sinfo -h -o %R | sort -u";
inline constexpr std::string_view kQosNames = "$sacctmgr -nP list qos format=name";
inline constexpr std::string_view kReservationNames =
    "$scontrol -o show reservation | sed -n s/ReservationName=//p | cut -d ' ' -f 1";
inline constexpr std::string_view kRunningJobIds = "$squeue --me -h -t R -o %A";
inline constexpr std::string_view kUserNames = "$getent passwd | cut -d : -f 1";

}  // namespace minke::options
