#include "mpi/pmi_space.h"

#include <gtest/gtest.h>

namespace minke::mpi {
namespace {

class Pmi : public testing::Test {
 protected:
  // Returns the answers to `rank`; `others` keeps those to other ranks.
  std::string say(uint32_t rank, std::string_view bytes) {
    std::vector<PmiSpace::Output> out;
    alive = space.receive(rank, bytes, out);
    std::string answer;
    for (auto& one : out) (one.rank == rank ? answer : others) += one.bytes;
    return answer;
  }
  std::string say2(uint32_t rank, std::string body) {
    std::string length = std::to_string(body.size());
    length.resize(6, ' ');
    const std::string answer = say(rank, length + body);
    return answer.empty() ? answer : answer.substr(6);
  }

  PmiSpace space{"7.0", {0, 0, 1}};
  std::string others;
  bool alive = true;
};

TEST_F(Pmi, VersionOne) {
  EXPECT_EQ(say(0, "cmd=init pmi_version=1 pmi_subversion=1\n"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  say(1, "cmd=init pmi_version=1 pmi_subversion=1\n");
  say(2, "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_EQ(say(0, "cmd=get_my_kvsname\n"), "cmd=my_kvsname rc=0 kvsname=7.0\n");
  EXPECT_EQ(say(0, "cmd=put kvsname=7.0 key=P0 value=port#1=x\n"), "cmd=put_result rc=0\n");
  EXPECT_EQ(say(0, "cmd=barrier_in\n"), "");
  EXPECT_EQ(say(1, "cmd=barrier_in\n"), "");
  EXPECT_EQ(say(2, "cmd=barrier_"), "");  // pieces as they come
  EXPECT_EQ(say(2, "in\n"), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(others, "cmd=barrier_out rc=0\ncmd=barrier_out rc=0\n");
  EXPECT_EQ(say(1, "cmd=get kvsname=7.0 key=P0\n"), "cmd=get_result rc=0 value=port#1=x\n");
  EXPECT_EQ(say(1, "cmd=get kvsname=7.0 key=no\n"), "cmd=get_result rc=-1 msg=key_not_found\n");
  EXPECT_EQ(say(1, "cmd=get kvsname=7.0 key=PMI_process_mapping\n"),
            "cmd=get_result rc=0 value=(vector,(0,1,2),(1,1,1))\n");
  EXPECT_TRUE(space.initialised(1) && !space.finalised(1));
  EXPECT_EQ(say(1, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n");
  EXPECT_TRUE(space.finalised(1));
  say(2, "cmd=abort exitcode=7\n");
  EXPECT_EQ(space.aborted()->exit_code, 7);
  EXPECT_EQ(space.aborted()->rank, 2u);
}

TEST_F(Pmi, VersionTwo) {
  EXPECT_EQ(say(0, "cmd=init pmi_version=2 pmi_subversion=0\n"),
            "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
  say(1, "cmd=init pmi_version=2 pmi_subversion=0\n");
  say(2, "cmd=init pmi_version=2 pmi_subversion=0\n");
  EXPECT_EQ(say2(0, "cmd=fullinit;pmirank=0;threaded=FALSE;"),
            "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=0;size=3;appnum=0;debugged=FALSE;"
            "pmiverbose=FALSE;");
  EXPECT_EQ(say2(0, "cmd=kvs-put;key=a;value=x;;y;thrid=4;"), "cmd=kvs-put-response;thrid=4;rc=0;");
  EXPECT_EQ(say2(1, "cmd=kvs-get;jobid=7.0;srcid=-1;key=a;"),
            "cmd=kvs-get-response;rc=0;found=TRUE;value=x;;y;");
  EXPECT_EQ(say2(1, "cmd=kvs-get;key=b;"), "cmd=kvs-get-response;rc=0;found=FALSE;");
  say2(0, "cmd=kvs-fence;");
  say2(1, "cmd=kvs-fence;");
  EXPECT_EQ(say2(2, "cmd=kvs-fence;thrid=9;"), "cmd=kvs-fence-response;thrid=9;rc=0;");
  // Attributes belong to a node: rank 1 shares rank 0's, rank 2 does not.
  EXPECT_EQ(say2(1, "cmd=info-getnodeattr;key=shm;wait=TRUE;"), "");
  EXPECT_EQ(say2(2, "cmd=info-getnodeattr;key=shm;"), "cmd=info-getnodeattr-response;rc=0;found=FALSE;");
  others.clear();
  EXPECT_EQ(say2(0, "cmd=info-putnodeattr;key=shm;value=/s;"), "cmd=info-putnodeattr-response;rc=0;");
  EXPECT_NE(others.find("found=TRUE;value=/s;"), std::string::npos);
  EXPECT_EQ(say2(0, "cmd=finalize;"), "cmd=finalize-response;rc=0;");
  EXPECT_TRUE(space.finalised(0));
}

TEST_F(Pmi, WhatIsNoCommandEndsTheConversation) {
  say(0, "cmd=put key=a value=b\n");  // before init
  EXPECT_FALSE(alive);
  say(1, "cmd=init pmi_version=2 pmi_subversion=0\n");
  EXPECT_TRUE(alive);
  say(1, "abcdefcmd=finalize;");
  EXPECT_FALSE(alive);
  say(2, std::string(100'000, 'x'));
  EXPECT_FALSE(alive);
}

TEST(PmiMapping, IsShortForBlocks) {
  EXPECT_EQ(process_mapping({0, 0, 1, 1}), "(vector,(0,2,2))");
  EXPECT_EQ(process_mapping({0, 1, 0, 1}), "(vector,(0,2,1),(0,2,1))");
  EXPECT_EQ(process_mapping({0}), "(vector,(0,1,1))");
}

}  // namespace
}  // namespace minke::mpi
