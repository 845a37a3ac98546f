#include "sim/accounts.h"

#include <gtest/gtest.h>

namespace minke::sim {
namespace {

constexpr const char* kDump =
    "# To edit this file start with a cluster line\n"
    "Cluster - 'one':Fairshare=1:QOS='normal'\n"
    "Parent - 'root'\n"
    "User - 'root':DefaultAccount='root':AdminLevel='Administrator'\n"
    "Account - 'Physics':Description='all: of it':Organization='p':Fairshare=3:GrpTRES=gres/gpu:a100=2\n"
    "Account - 'rrg':Fairshare=1:CoreYears=193:RGUYears=52.5\n"
    "Parent - 'physics'\n"
    "User - 'ann':DefaultAccount='physics':Fairshare=parent\n"
    "User - 'ann':Partition='gpu':DefaultAccount='physics':Fairshare=7\n";

TEST(SimAccounts, ReadsTheTreeAndItsShares) {
  const auto book = read_accounts(kDump);
  ASSERT_TRUE(book) << book.error().message;
  EXPECT_EQ(book->find("physics")->shares(), 3u);
  EXPECT_EQ(book->find("physics", "ann")->shares(), accounts::kSharesAsParent);
  EXPECT_DOUBLE_EQ(book->find("rrg")->rgu_years(), 52.5);
  EXPECT_DOUBLE_EQ(book->find("rrg")->core_years(), 193);
}

TEST(SimAccounts, NamesTheLineThatIsWrong) {
  for (const char* text : {"#\nnonsense\n", "#\nParent - 'none'\n", "#\nAccount - ''\n", "#\nQueue - 'x'\n",
                           "#\nAccount - 'a':Fairshare=lots\n", "#\nAccount - 'a':CoreYears=-1\n"}) {
    const auto book = read_accounts(text);
    ASSERT_FALSE(book) << text;
    EXPECT_TRUE(book.error().message.starts_with("line 2: ")) << book.error().message;
  }
}

TEST(SimAccounts, WhoeverTheTraceNamesIsAdded) {
  Trace trace;
  TraceJob job;
  trace.jobs.push_back(job);  // names nobody
  job.account = trace.names.number_of("Physics");
  job.user = trace.names.number_of("ann");
  trace.jobs.push_back(job);
  job.user = trace.names.number_of("bob");
  trace.jobs.push_back(job);
  auto book = read_accounts(kDump).value();
  ASSERT_TRUE(add_missing(book, trace));
  EXPECT_EQ(book.find("physics", "ann")->shares(), accounts::kSharesAsParent);
  EXPECT_EQ(book.find("physics", "bob")->shares(), 1u);
  EXPECT_NE(book.find("none", "none"), nullptr);
  EXPECT_EQ(book.find("physics")->shares(), 3u);
}

}  // namespace
}  // namespace minke::sim
