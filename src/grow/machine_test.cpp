#include "grow/machine.h"

#include <gtest/gtest.h>

namespace minke::grow {
namespace {

constexpr char kSaid[] =
    "name\tn1.lab.example\nsystem\tdebian\t13\tDebian GNU/Linux 13 "
    "(trixie)\nkernel\t6.12.0\tx86_64\nwho\t0\t\n"
    "clock\t1790000000123\ncpus\t32\t16\t2\nmemory\t128000\ntmp\t50000\ndisk\t/\text4\t200000\t150000\n"
    "disk\t/home\tnfs4\t9000000\t4000000\ngpu\t0\tDisabled\tNVIDIA H100 80GB HBM3\ngpu\t1\tEnabled\tNVIDIA "
    "H100 80GB HBM3\n"
    "groups\t2\nservices\tsystemd\nreached\t10.0.0.2\t10.0.0.1\naddress\t10.0.0.2\n"
    "package\tslurmd\t\t24.11.5-4\npackage\tmunge\t0.5.16-1\t0.5.16-1\nperson\tann\t2001\t2001\tann\t/home/"
    "ann\t/bin/bash\n"
    "slurm\t1\nbusy\t6818\nnews\tof a later script\nend\n";

TEST(Machine, IsReadFromWhatTheScriptPrints) {
  const auto machine = parse_machine(kSaid);
  ASSERT_TRUE(machine.has_value()) << machine.error().message;
  EXPECT_EQ(machine->name, "n1");
  EXPECT_EQ(machine->system_version, "13");
  EXPECT_EQ(machine->cpus, 32U);
  EXPECT_EQ(machine->cores_per_socket(), 8U);
  EXPECT_EQ(machine->threads_per_core(), 2U);
  EXPECT_EQ(machine->memory_mib, 128000U);
  ASSERT_EQ(machine->gpus.size(), 2U);
  EXPECT_EQ(machine->gpus[0].type, "h100");
  EXPECT_EQ(machine->gpus[0].device, "/dev/nvidia0");
  EXPECT_FALSE(machine->gpus[0].partitioned);
  EXPECT_TRUE(machine->gpus[1].partitioned);
  ASSERT_EQ(machine->disks.size(), 2U);
  EXPECT_FALSE(machine->disks[0].shared());
  EXPECT_TRUE(machine->disks[1].shared());
  EXPECT_EQ(machine->head_address, "10.0.0.1");
  EXPECT_EQ(machine->people.at("ann").uid, 2001U);
  EXPECT_TRUE(machine->has_slurm_conf && machine->is_ours);
  EXPECT_EQ(machine->busy_ports, std::vector<uint16_t>{6818});
  EXPECT_EQ(slurm_version(*machine).text(), "24.11");
}

TEST(Machine, TellsItsMigInstancesAndItsSwitch) {
  const std::string whole = kSaid;
  const auto machine =
      parse_machine(whole.substr(0, whole.size() - 4) +
                    "mig\t1\t1g.10gb+me\t66\t67\nmig\t7\t1g.10gb\t1\t2\nswitch\track 1;reboot\nend\n");
  ASSERT_TRUE(machine.has_value()) << machine.error().message;
  EXPECT_TRUE(machine->gpus[0].instances.empty());
  EXPECT_EQ(machine->gpus[0].offered(), std::vector<std::string>{"h100"});
  ASSERT_EQ(machine->gpus[1].offered(), std::vector<std::string>{"h100_1g.10gb_me"});
  EXPECT_EQ(machine->gpus[1].instances[0].compute_instance, "/dev/nvidia-caps/nvidia-cap67");
  EXPECT_EQ(machine->network_switch, "rack_1_reboot");
  EXPECT_FALSE(parse_machine(whole.substr(0, whole.size() - 4) + "mig\t1\t1g.10gb\t\t67\nend\n"));
}

// What a host says of its libmariadb3: what is installed, whether it fails, the candidate, and another.
std::string problem_of_library(const std::string& said) {
  const std::string whole = kSaid;
  const auto machine = parse_machine(whole.substr(0, whole.size() - 4) + "library\t" + said + "\nend\n");
  return machine ? database_library_problem(*machine) : "?" + machine.error().message;
}

TEST(Machine, ADatabaseLibraryThatEndsSlurmdbdIsNamedWithWhatToDo) {
  EXPECT_EQ(problem_of_library("\t\t\t"), "");
  EXPECT_EQ(problem_of_library("1:10.11.19-0+deb12u1\t\t1:10.11.19-0+deb12u1\t"), "");
  // Another one is in place, and held: what apt would take does not matter.
  EXPECT_EQ(problem_of_library("1:11.8.6-0+deb13u1\t\t1:11.8.9+ds-0+deb13u1\t"), "");
  EXPECT_EQ(problem_of_library("\t\t1:11.8.19-1\t"), "");
  const std::string would = problem_of_library("\t\t1:11.8.9+ds-0+deb13u1\t1:11.8.6-0+deb13u1");
  EXPECT_NE(would.find("libmariadb3 1:11.8.9+ds-0+deb13u1, which would be installed"), std::string::npos)
      << would;
  EXPECT_NE(would.find("apt-get install --allow-downgrades libmariadb3=1:11.8.6-0+deb13u1 && apt-mark hold "
                       "libmariadb3"),
            std::string::npos)
      << would;
  const std::string is = problem_of_library("1:11.8.9+ds-4\tyes\t1:11.8.9+ds-4\t");
  EXPECT_NE(is.find("which is installed"), std::string::npos) << is;
  EXPECT_NE(is.find("snapshot.debian.org"), std::string::npos) << is;
}

TEST(Machine, ThatSaidOnlyAPartIsAnError) {
  const std::string whole = kSaid;
  for (const size_t end : {size_t{0}, size_t{20}, whole.size() / 2, whole.size() - 5})
    EXPECT_FALSE(parse_machine(whole.substr(0, end)).has_value()) << end;
}

TEST(Machine, WhoseNumbersAreNoneIsAnErrorThatNamesTheLine) {
  for (const char* line : {"cpus\tmany\t1\t1", "cpus\t1", "memory\t-1", "person\tann\tx\t1\ta\t/\t/bin/sh"}) {
    const auto machine = parse_machine(std::string(line) + "\n" + kSaid);
    ASSERT_FALSE(machine.has_value()) << line;
    EXPECT_NE(machine.error().message.find("line 1"), std::string::npos) << machine.error().message;
  }
}

TEST(Machine, LinesOfAnyLengthAndNumberAreBounded) {
  EXPECT_TRUE(parse_machine(std::string(100000, 'x') + "\n" + kSaid).has_value());
  std::string many;
  for (int i = 0; i < 30000; ++i) many += "x\n";
  EXPECT_FALSE(parse_machine(many + kSaid).has_value());
}

TEST(SlurmVersion, IsReadFromPackagesVersions) {
  EXPECT_EQ(slurm_version("22.05.8-4+deb12u2").text(), "22.05");
  EXPECT_EQ(slurm_version("1:26.05.5-1").text(), "26.05");
  EXPECT_EQ(slurm_version("").text(), "?");
  EXPECT_EQ(slurm_version("a.b").text(), "?");
  EXPECT_LT(slurm_version("22.05.8"), slurm_version("24.11.5"));
}

}  // namespace
}  // namespace minke::grow
