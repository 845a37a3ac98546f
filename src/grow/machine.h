// What a host is and has, as far as a cluster of several machines has to know it: the script that looks, and
// the reading of what it prints.
//
// The script is POSIX sh and changes nothing. What it prints comes from another machine: lines are bounded,
// unknown ones are left out, and a number that is none is an error. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::grow {

// A part of a GPU that jobs get as one of their own.
struct MigInstance {
  std::string profile;       // "3g.40gb"
  std::string gpu_instance;  // its device files
  std::string compute_instance;
};

struct Gpu {
  std::string type;          // as gres: "h100"
  std::string product;       // as the driver names it
  std::string device;        // /dev/nvidia0
  bool partitioned = false;  // in MIG instances
  std::vector<MigInstance> instances = {};
  // As jobs ask for it: "h100", or of each instance "h100_3g.40gb".
  std::vector<std::string> offered() const;
};

struct Disk {
  std::string mount, type;
  uint64_t mib = 0, free_mib = 0;
  bool shared() const;  // a file system that several machines can have
};

struct Package {
  std::string installed, available;  // versions; empty: none
  const std::string& version() const { return installed.empty() ? available : installed; }
};

// libmariadb3, by which slurmdbd speaks with MariaDB.
struct DatabaseLibrary {
  Package package;
  bool defect = false;  // the installed one ends slurmdbd
  std::string another;  // a version that can be had instead
};

struct Person {
  std::string name;
  uint32_t uid = 0, gid = 0;
  std::string group, home, shell;
};

struct Machine {
  std::string host;  // how it is reached; empty: this machine
  std::string name;  // its own, the short one
  std::string system, system_id, system_version, kernel, architecture;
  uint32_t uid = 0;  // of who looked
  bool may_sudo = false;
  uint32_t cpus = 0, sockets = 0, cores = 0;  // of the whole machine
  uint64_t memory_mib = 0, tmp_mib = 0;
  std::vector<Gpu> gpus;
  std::vector<Disk> disks;
  int64_t clock_milliseconds = 0;  // since the epoch, when the script ran
  int64_t clock_ahead = 0;         // milliseconds, of the head's
  std::string address;             // at which the head reaches it
  std::string head_address;        // at which it saw the head
  std::vector<std::string> addresses;
  int control_groups = 0;      // their version; 0: none
  std::string services;        // systemd, sysvinit, none
  std::string network_switch;  // that its neighbour says it is (LLDP); empty: nobody says it
  std::map<std::string, Package> packages;
  DatabaseLibrary database_library;
  std::map<std::string, Person> people;          // of those asked for, who exist
  bool has_slurm_conf = false, is_ours = false;  // a slurm.conf; which this program wrote
  std::vector<uint16_t> busy_ports;              // of Slurm's
  uint32_t cores_per_socket() const { return sockets == 0 ? cores : cores / sockets; }
  uint32_t threads_per_core() const { return cores == 0 ? 1 : cpus / cores; }
  bool is_head() const { return host.empty(); }
};

// Why slurmdbd would end at its start with the library that is there, or would be installed, and what to do;
// empty: it would not.
std::string database_library_problem(const Machine& machine);
// As the library itself spells it.
inline constexpr char kDatabaseLibraryDefect[] = "execeeds maxmimum allowed number of columns";

// What all hosts need, what computes, and what the head needs besides.
const std::vector<std::string>& common_packages();
const std::vector<std::string>& head_packages();
std::vector<std::string> packages_of(bool head);

// `people`: names of users.
std::string probe_script(const std::vector<std::string>& people);
// Errors name the line. Clock difference and `host` are the caller's to fill in.
Result<Machine> parse_machine(std::string_view text);

// "24.11.5-4" is {24, 11}; {0, 0}: not known.
struct SlurmVersion {
  uint32_t year = 0, month = 0;
  auto operator<=>(const SlurmVersion&) const = default;
  std::string text() const;
};
SlurmVersion slurm_version(std::string_view package);
SlurmVersion slurm_version(const Machine& machine);

}  // namespace minke::grow
