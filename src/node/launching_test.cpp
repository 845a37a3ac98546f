// One launch at a time: environment, streams, directories, exit statuses, errors.
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/journal.pb.h"
#include "node/launch.pb.h"
#include "node/launcher_harness.h"

namespace minke::node {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class Launching : public testing::Test {
 protected:
  Launch run(const std::string& script) { return launcher.run(batch_order(++job, script, work.path())); }
  std::string output() const { return read_whole(work / ("out." + std::to_string(job))); }
  static int status(const Launch& launch) {
    return launch.ended_tasks_size() == 1 ? launch.ended_tasks(0).status() : -1;
  }

  TemporaryDirectory work;
  LauncherHarness launcher;
  uint32_t job = 0;
};

TEST_F(Launching, ReportsExitCodesAndSignals) {
  Launch zero = run("echo hello");
  EXPECT_EQ(status(zero), 0);
  EXPECT_EQ(zero.launch_error(), "");
  EXPECT_GE(zero.start_time(), 1'700'000'000);
  EXPECT_GE(zero.end_time(), zero.start_time());
  EXPECT_EQ(output(), "hello\n");
  EXPECT_EQ(status(run("exit 3")), 3 << 8);
  EXPECT_EQ(status(run("kill -9 $$")), SIGKILL);
  EXPECT_EQ(status(run("ulimit -c 0; kill -SEGV $$")) & 0x7f, SIGSEGV);
  for (const auto& event : launcher.events) EXPECT_FALSE(event.has_task_ended());
}

TEST_F(Launching, MeasuresUsage) {
  Launch busy = run("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  EXPECT_GT(
      busy.ended_tasks(0).usage().user_microseconds() + busy.ended_tasks(0).usage().system_microseconds(),
      5000u);
  EXPECT_GT(busy.ended_tasks(0).usage().max_rss_kib(), 500u);
}

TEST_F(Launching, ATaskMayRunAProgramOfItsOwn) {
  LaunchOrder order = step_order(8, 0, "echo the order", work.path(), 2);
  for (const char* word : {"sh", "-c", "echo its own $SLURM_PROCID"}) order.mutable_tasks(1)->add_argv(word);
  launcher.run(order);
  EXPECT_EQ(read_whole(work / "step.0"), "the order\n");
  EXPECT_EQ(read_whole(work / "step.1"), "its own 1\n");
  order.mutable_id()->set_step_id(1);
  order.clear_argv();  // the other task has nothing to run now
  EXPECT_EQ(launcher.run(order).launch_error(), "nothing to run");
}

TEST_F(Launching, BuildsTheEnvironment) {
  LaunchOrder order =
      step_order(7, 0, "env; echo pid=$$; set -- $(cat /proc/$$/stat); echo session $6", work.path());
  order.set_environment(
      std::string("PATH=/usr/bin:/bin\0A=base\0B=kept\0MINKE_LAUNCH=old/1.2\0SLURM_TASK_PID=1", 71));
  order.mutable_tasks(0)->add_environment("A=task");
  order.mutable_tasks(0)->add_environment("C=first");
  order.mutable_tasks(0)->add_environment("C=last=one");
  Launch launch = launcher.run(order);
  std::string text = "\n" + read_whole(work / "step.0");
  for (const char* line : {"\nA=task\n", "\nB=kept\n", "\nC=last=one\n", "/7.0\n", "\nSLURM_PROCID=0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("A=base")));
  EXPECT_THAT(text, Not(HasSubstr("C=first")));
  EXPECT_THAT(text, Not(HasSubstr("old/1.2")));
  std::string pid = std::to_string(launcher.wait_started(order.id()).pids(0));
  EXPECT_THAT(text, HasSubstr("\nSLURM_TASK_PID=" + pid + "\n"));
  EXPECT_THAT(text, HasSubstr("\npid=" + pid + "\n"));
  EXPECT_THAT(text, EndsWith("\nsession " + pid + "\n"));  // a session of its own
}

TEST_F(Launching, StartsWithACleanSlate) {
  run("cat /proc/self/status | grep -E '^Sig(Blk|Ign)'; umask; ls /proc/self/fd; pwd");
  EXPECT_THAT(output(), HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(output(), HasSubstr("SigIgn:\t0000000000000000"));
  EXPECT_THAT(output(), HasSubstr("0022\n"));
  EXPECT_THAT(output(), HasSubstr("0\n1\n2\n3\n" + work.path()));  // 3 is ls's own
}

TEST_F(Launching, SetsResourceLimits) {
  LaunchOrder order = batch_order(++job, "ulimit -n; ulimit -c; ulimit -f", work.path());
  auto limit = [&](const char* name, uint64_t soft) {
    order.add_resource_limits()->set_name(name);
    order.mutable_resource_limits()->rbegin()->set_soft(soft);
  };
  limit("NOFILE", 77);
  limit("CORE", 0);
  limit("FSIZE", ~uint64_t{0});
  limit("NOT_KNOWN", 1);
  launcher.run(order);
  EXPECT_EQ(output(), "77\n0\nunlimited\n");
}

TEST_F(Launching, TruncatesOrAppends) {
  LaunchOrder order = batch_order(++job, "echo one", work.path());
  write_whole(work / "out.1", "older, and longer than what comes\n");
  launcher.run(order);
  EXPECT_EQ(output(), "one\n");
  struct stat info {};
  order.mutable_id()->set_run(1);
  order.mutable_tasks(0)->mutable_stdout()->set_append(true);
  launcher.run(order);
  EXPECT_EQ(output(), "one\none\n");
  run("true");
  ASSERT_EQ(::stat((work / "out.2").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST_F(Launching, KeepsStreamsApartAndReadsInput) {
  LaunchOrder order = batch_order(++job, "cat; echo to-err >&2", work.path());
  write_whole(work / "in", "input\n");
  order.mutable_tasks(0)->mutable_stdin()->set_path(work / "in");
  order.mutable_tasks(0)->mutable_stderr()->set_same_as_stdout(false);
  order.mutable_tasks(0)->mutable_stderr()->set_path(work / "err");
  launcher.run(order);
  EXPECT_EQ(output(), "input\n");
  EXPECT_EQ(read_whole(work / "err"), "to-err\n");

  LaunchOrder one_file = batch_order(++job, "echo a; echo b >&2; echo c", work.path());
  one_file.mutable_tasks(0)->mutable_stderr()->set_same_as_stdout(false);
  one_file.mutable_tasks(0)->mutable_stderr()->set_path(work / "out.2");
  launcher.run(one_file);
  EXPECT_EQ(output(), "a\nb\nc\n");
}

TEST_F(Launching, TellsWhyStreamsCannotBeHad) {
  LaunchOrder order = batch_order(++job, "touch ran", work.path());
  order.mutable_tasks(0)->mutable_stdout()->set_path(work / "no/such/out");
  Launch launch = launcher.run(order);
  EXPECT_EQ(launch.launch_error(),
            "Could not open stdout file " + (work / "no/such/out") + ": No such file or directory");
  EXPECT_EQ(status(launch), 1 << 8);
  LaunchOrder input = batch_order(++job, "touch ran", work.path());
  input.mutable_tasks(0)->mutable_stdin()->set_path(work / "absent");
  EXPECT_EQ(launcher.run(input).launch_error(),
            "Could not open stdin file " + (work / "absent") + ": No such file or directory");
  LaunchOrder directory = batch_order(++job, "touch ran", work.path());
  directory.mutable_tasks(0)->mutable_stderr()->set_same_as_stdout(false);
  directory.mutable_tasks(0)->mutable_stderr()->set_path(work.path());
  EXPECT_EQ(launcher.run(directory).launch_error(),
            "Could not open stderr file " + work.path() + ": Is a directory");
  EXPECT_NE(::access((work / "ran").c_str(), F_OK), 0);
}

// Opening a FIFO waits for its other end; the launcher does not wait along.
TEST_F(Launching, AFifoForOutputBlocksNobodyElse) {
  std::string fifo = work / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  LaunchOrder order = batch_order(++job, "echo through", work.path());
  order.mutable_tasks(0)->mutable_stdout()->set_path(fifo);
  launcher.launch(order);
  launcher.wait_started(order.id());
  EXPECT_EQ(status(run("echo meanwhile")), 0);
  EXPECT_EQ(output(), "meanwhile\n");
  EXPECT_EQ(read_whole(fifo), "through\n");
  EXPECT_EQ(status(launcher.wait_ended(order.id())), 0);

  LaunchOrder stuck = batch_order(++job, "echo never", work.path());
  stuck.mutable_tasks(0)->mutable_stdout()->set_path(fifo);
  launcher.launch(stuck);
  launcher.signal(job, SIGKILL, SignalOrder::ALL);
  EXPECT_EQ(status(launcher.wait_ended(stuck.id())), SIGKILL);
}

// Who dies of memory in a job's group takes along all that share memory with it.
TEST_F(Launching, AChildThatHasNotBegunSharesNoMemoryWithTheLauncher) {
  const std::string fifo = work / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  LaunchOrder order = batch_order(++job, "true", work.path());
  order.mutable_tasks(0)->mutable_stdout()->set_path(fifo);
  launcher.launch(order);
  const Launch started = launcher.wait_started(order.id());
  ASSERT_EQ(started.pids_size(), 1);
  const long same = ::syscall(SYS_kcmp, launcher.inventory.pid(), started.pids(0), KCMP_VM, 0, 0);
  if (same < 0) GTEST_SKIP() << "this kernel does not compare";
  EXPECT_NE(same, 0);
  launcher.signal(job, SIGKILL, SignalOrder::ALL);
  EXPECT_EQ(status(launcher.wait_ended(order.id())), SIGKILL);
}

// It does not have the file yet that the message is for.
TEST_F(Launching, ASignalWaitsForATaskThatHasNotBegun) {
  const std::string fifo = work / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  LaunchOrder order = batch_order(++job, "sleep 60", work.path());
  order.mutable_tasks(0)->mutable_stdin()->set_path(fifo);
  launcher.launch(order);
  launcher.wait_started(order.id());
  DaemonMessage message;
  SignalOrder& signal = *message.mutable_signal();
  signal.set_job_id(job);
  signal.set_signal(SIGTERM);
  signal.set_target(SignalOrder::ALL);
  signal.set_message("to be said\n");
  launcher.send(message);
  const os::UniqueFd other_end(::open(fifo.c_str(), O_WRONLY));
  EXPECT_EQ(status(launcher.wait_ended(order.id())), SIGTERM);
  EXPECT_EQ(output(), "to be said\n");
}

TEST_F(Launching, FallsBackToTmp) {
  LaunchOrder order = batch_order(++job, "pwd", work.path());
  order.set_work_dir("/no/such/place");
  EXPECT_EQ(status(launcher.run(order)), 0);
  EXPECT_EQ(output(),
            "slurmstepd: error: couldn't chdir to `/no/such/place': No such file or directory: going to /tmp "
            "instead\n"
            "/tmp\n");
}

TEST_F(Launching, LooksProgramsUpInTheOrdersPath) {
  ASSERT_EQ(::mkdir((work / "bin").c_str(), 0700), 0);
  write_whole(work / "bin/tool", "#!/bin/sh\necho tool \"$@\" from $0\n");
  ::chmod((work / "bin/tool").c_str(), 0700);
  LaunchOrder order = batch_order(++job, "", work.path());
  order.set_environment("PATH=/no/such:" + (work / "bin") + ":/bin");
  order.clear_argv();
  order.add_argv("tool");
  order.add_argv("x y");
  EXPECT_EQ(status(launcher.run(order)), 0);
  EXPECT_EQ(output(), "tool x y from " + (work / "bin/tool") + "\n");
  write_whole(work / "local", "#!/bin/sh\necho local from $0\n");
  ::chmod((work / "local").c_str(), 0700);
  LaunchOrder here = batch_order(++job, "", work.path());
  here.clear_argv();
  here.add_argv("local");
  EXPECT_EQ(status(launcher.run(here)), 0) << "the working directory comes last";
  EXPECT_EQ(output(), "local from " + (work / "local") + "\n");
}

TEST_F(Launching, SaysAsSlurmWhatCannotBeExecuted) {
  auto execute = [&](const std::string& program) {
    LaunchOrder order = batch_order(++job, "", work.path());
    order.clear_argv();
    order.add_argv(program);
    Launch launch = launcher.run(order);
    EXPECT_EQ(launch.launch_error(), "");
    return status(launch);
  };
  EXPECT_EQ(execute("no-such-program"), ENOENT << 8);
  EXPECT_EQ(output(),
            "slurmstepd: error: execve(): no-such-program: No such file or directory "
            "(it is in no directory of PATH)\n");
  write_whole(work / "plain", "#!/bin/sh\n");
  EXPECT_EQ(execute(work / "plain"), EACCES << 8);
  EXPECT_EQ(output(), "slurmstepd: error: execve(): " + (work / "plain") +
                          ": Permission denied (to make a program of the file: chmod +x)\n");
  write_whole(work / "script", "#!/no/interpreter -x\n");
  ::chmod((work / "script").c_str(), 0700);
  EXPECT_EQ(execute("./script"), ENOENT << 8);
  EXPECT_EQ(output(),
            "slurmstepd: error: execve(): bad interpreter(/no/interpreter -x): No such file or directory\n");
  write_whole(work / "binary", std::string("\0\1\2", 3));
  ::chmod((work / "binary").c_str(), 0700);
  EXPECT_EQ(execute("./binary"), ENOEXEC << 8);
  EXPECT_EQ(output(), "slurmstepd: error: execve(): ./binary: Exec format error\n");
  EXPECT_EQ(execute(""), ENOENT << 8);
}

TEST_F(Launching, RunsSeveralTasks) {
  LaunchOrder order = step_order(5, 3, "echo rank $SLURM_PROCID; exit $SLURM_PROCID", work.path(), 4);
  Launch launch = launcher.run(order);
  ASSERT_EQ(launch.ended_tasks_size(), 4);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(launch.ended_tasks(static_cast<int>(rank)).rank(), rank);
    EXPECT_EQ(launch.ended_tasks(static_cast<int>(rank)).status(), static_cast<int>(rank << 8));
    EXPECT_EQ(read_whole(work / ("step." + std::to_string(rank))), "rank " + std::to_string(rank) + "\n");
  }
  int told = 0;
  for (const auto& event : launcher.events) told += event.has_task_ended();
  EXPECT_EQ(told, 4);
}

TEST_F(Launching, TasksMayShareAFile) {
  for (uint32_t round = 0; round < 10; ++round) {
    LaunchOrder order = step_order(5, round, "echo rank $SLURM_PROCID", work.path(), 6);
    for (auto& task : *order.mutable_tasks()) task.mutable_stdout()->set_path(work / "shared");
    write_whole(work / "shared", "older\n");
    launcher.run(order);
    EXPECT_EQ(count_lines(work / "shared"), 6u) << read_whole(work / "shared");
    EXPECT_THAT(read_whole(work / "shared"), Not(HasSubstr("older")));
  }
}

TEST_F(Launching, SomeTasksMayFailToStart) {
  LaunchOrder order = step_order(5, 0, "echo here", work.path(), 2);
  order.mutable_tasks(1)->mutable_stdout()->set_path("/no/such/file");
  Launch launch = launcher.run(order);
  EXPECT_EQ(launch.launch_error(), "");
  EXPECT_EQ(launch.ended_tasks(0).error(), "");
  EXPECT_EQ(launch.ended_tasks(0).status(), 0);
  EXPECT_THAT(launch.ended_tasks(1).error(), HasSubstr("/no/such/file"));
  EXPECT_EQ(launch.ended_tasks(1).status(), 1 << 8);
}

TEST_F(Launching, HandsDescriptorsOver) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  os::UniqueFd reading(ends[0]);
  os::UniqueFd writing(ends[1]);
  LaunchOrder order = step_order(5, 0, "echo through the pipe", work.path());
  order.mutable_tasks(0)->mutable_stdout()->Clear();
  order.mutable_tasks(0)->mutable_stdout()->set_descriptor(0);
  launcher.launch(order, {writing.get()});
  launcher.wait_ended(order.id());
  writing.reset();
  char buffer[100];
  EXPECT_EQ(::read(reading.get(), buffer, sizeof buffer), 17);
  EXPECT_EQ(::read(reading.get(), buffer, sizeof buffer), 0);  // the launcher has kept no copy open

  LaunchOrder missing = step_order(5, 1, "true", work.path());
  missing.mutable_tasks(0)->mutable_stdin()->set_descriptor(3);
  EXPECT_EQ(launcher.run(missing).launch_error(), "a file descriptor is missing");
}

TEST_F(Launching, GivesATerminal) {
  int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  os::UniqueFd terminal(master);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  os::UniqueFd slave(::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC));
  LaunchOrder order = step_order(5, 0, "echo yes > /dev/tty; tty", work.path());
  order.mutable_tasks(0)->mutable_stdin()->set_descriptor(0);
  order.set_controlling_terminal(true);
  launcher.launch(order, {slave.get()});
  EXPECT_EQ(launcher.wait_ended(order.id()).ended_tasks(0).status(), 0);
  EXPECT_THAT(read_whole(work / "step.0"), HasSubstr("/dev/pts/"));
  char buffer[100];
  ASSERT_GE(::read(master, buffer, sizeof buffer), 3);
  EXPECT_EQ(std::string(buffer, 3), "yes");
}

TEST_F(Launching, RefusesNonsense) {
  LaunchOrder nothing = batch_order(++job, "true", work.path());
  nothing.clear_argv();
  EXPECT_EQ(launcher.run(nothing).launch_error(), "nothing to run");
  LaunchOrder nobody = batch_order(++job, "true", work.path());
  nobody.clear_tasks();
  EXPECT_EQ(launcher.run(nobody).launch_error(), "nothing to run");
}

// A script's 4 MiB environment and a thousand arguments are nothing special.
TEST_F(Launching, TakesLargeOrders) {
  LaunchOrder order = batch_order(++job, "echo ${#BIG} $#", work.path());
  order.set_environment(order.environment() + "BIG=" + std::string(100'000, 'x'));
  order.add_argv("name");
  for (int i = 0; i < 1000; ++i) order.add_argv("argument");
  EXPECT_EQ(status(launcher.run(order)), 0);
  EXPECT_EQ(output(), "100000 1000\n");
}

}  // namespace
}  // namespace minke::node
