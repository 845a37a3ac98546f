#include "storage/tree_walk.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "storage/testing.h"
#include "storage/usage_scan.h"
#include "storage/words.h"

namespace minke::storage {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct Collect : Visitor {
  std::mutex mutex;
  std::multiset<std::string> files, entered, left, failures;
  size_t most_open = 0;
  void visit(unsigned, Directory& in, const char* name, const struct statx&) override {
    const std::lock_guard lock(mutex);
    files.insert(in.path_of(name));
  }
  bool enter(unsigned, Directory& directory, const struct statx&) override {
    const std::lock_guard lock(mutex);
    entered.insert(directory.path());
    return directory.name() != "closed";
  }
  void leave(unsigned, Directory& directory) override {
    const std::lock_guard lock(mutex);
    const std::string path = directory.path();
    for (const std::string& other : entered) {  // everything below has been left before
      if (!other.starts_with(path + "/") || other.ends_with("closed")) continue;
      EXPECT_TRUE(left.contains(other)) << other;
    }
    left.insert(path);
  }
  void failed(unsigned, const std::string& path, int) override {
    const std::lock_guard lock(mutex);
    failures.insert(path);
  }
};

TEST(TreeWalk, a_flat_directory_is_work_for_several) {
  const TempTree tree;
  std::multiset<std::string> expected;
  for (int i = 0; i < 1000; ++i) expected.insert(tree.write(std::to_string(i), "x"));
  struct Meeting : Collect {  // the first one waits for another worker
    std::condition_variable met;
    std::set<unsigned> workers;
    void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) override {
      Collect::visit(worker, in, name, status);
      std::unique_lock lock(mutex);
      workers.insert(worker);
      met.notify_all();
      met.wait_for(lock, std::chrono::seconds(30), [&] { return workers.size() > 1; });
    }
  } seen;
  ASSERT_TRUE(walk_tree(tree.path(), {.threads = 4}, seen));
  EXPECT_EQ(seen.files, expected);
  EXPECT_GT(seen.workers.size(), 1u);
  EXPECT_THAT(seen.left, ElementsAre(tree.path()));
}

TEST(TreeWalk, visits_each_entry_once_and_leaves_upwards) {
  const TempTree tree;
  std::multiset<std::string> expected;
  for (int i = 0; i < 3000; ++i)
    expected.insert(tree.write(
        "a" + std::to_string(i % 7) + "/b" + std::to_string(i % 41) + "/" + std::to_string(i), "x"));
  expected.insert(tree.write("top", "x"));
  for (const unsigned threads : {1u, 2u, 16u}) {
    Collect seen;
    ASSERT_TRUE(walk_tree(tree.path(), {.threads = threads}, seen));
    EXPECT_EQ(seen.files, expected);
    EXPECT_EQ(seen.entered, seen.left);
    EXPECT_EQ(seen.entered.size(), 1u + 7u + 7u * 41u);
  }
}

TEST(TreeWalk, names_of_any_bytes) {
  const TempTree tree;
  std::multiset<std::string> expected;
  for (const char* name : {"new\nline", "\xff\xfe", " ", "-rf", "\x01\x1b[31m", "…"})
    expected.insert(tree.write(std::string("d\n/") + name, "x"));
  Collect seen;
  ASSERT_TRUE(walk_tree(tree.path(), {}, seen));
  EXPECT_EQ(seen.files, expected);
}

TEST(TreeWalk, symbolic_links_are_not_followed) {
  const TempTree tree, outside;
  outside.write("secret", "x");
  std::filesystem::create_directory_symlink(outside.path(), tree / "link");
  Collect seen;
  ASSERT_TRUE(walk_tree(tree.path(), {}, seen));
  EXPECT_THAT(seen.files, ElementsAre(tree / "link"));
  Collect none;
  EXPECT_TRUE(walk_tree(tree / "link", {}, none));  // the link itself, nothing behind it
  EXPECT_THAT(none.files, ElementsAre(tree / "link"));
}

TEST(TreeWalk, a_directory_may_be_left_out) {
  const TempTree tree;
  tree.write("closed/inside", "x");
  tree.write("open/inside", "x");
  Collect seen;
  ASSERT_TRUE(walk_tree(tree.path(), {}, seen));
  EXPECT_THAT(seen.files, ElementsAre(tree / "open/inside"));
}

TEST(TreeWalk, a_file_is_visited_alone_and_nothing_is_an_error) {
  const TempTree tree;
  const std::string file = tree.write("d/file", "x");
  Collect seen;
  ASSERT_TRUE(walk_tree(file, {}, seen));
  EXPECT_THAT(seen.files, ElementsAre(file));
  EXPECT_EQ(walk_tree(tree / "nothing", {}, seen).error().code, ENOENT);
}

TEST(TreeWalk, paths_longer_than_the_kernel_takes) {
  const TempTree tree;
  const std::string name(200, 'd');
  os::UniqueFd at(::open(tree.path().c_str(), O_RDONLY | O_DIRECTORY));
  for (int depth = 0; depth < 100; ++depth) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    at.reset(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
  }
  const os::UniqueFd file(::openat(at.get(), "end", O_CREAT | O_WRONLY, 0644));
  Collect seen;
  ASSERT_TRUE(walk_tree(tree.path(), {}, seen));
  ASSERT_EQ(seen.files.size(), 1u);
  EXPECT_EQ(seen.files.begin()->size(), tree.path().size() + 100 * 201 + 4);
}

TEST(TreeWalk, what_others_remove_meanwhile_is_no_error) {
  const TempTree tree;
  for (int i = 0; i < 4000; ++i) tree.write("d" + std::to_string(i % 50) + "/" + std::to_string(i), "x");
  Collect seen;
  std::thread remover([&] { std::filesystem::remove_all(tree.path()); });
  (void)walk_tree(tree.path(), {}, seen);
  remover.join();
  EXPECT_TRUE(seen.failures.empty()) << *seen.failures.begin();
}

TEST(TreeWalk, stops_when_told) {
  const TempTree tree;
  for (int i = 0; i < 500; ++i) tree.write(std::to_string(i % 20) + "/" + std::to_string(i), "x");
  struct Once : Collect {
    std::atomic<bool> stop{false};
    void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) override {
      Collect::visit(worker, in, name, status);
      stop = true;
    }
  } seen;
  ASSERT_TRUE(walk_tree(tree.path(), {.threads = 1}, seen, &seen.stop));
  EXPECT_EQ(seen.files.size(), 1u);
}

TEST(UsageScan, counts_as_du_does) {
  const TempTree tree;
  tree.write("a/large", std::string(100'000, 'x'));
  tree.write("a/small.TXT", "abc");
  tree.write("b/empty", "");
  std::filesystem::create_hard_link(tree / "a/large", tree / "b/again");
  std::filesystem::create_symlink("nowhere", tree / "b/link");
  ASSERT_EQ(::mkfifo((tree / "b/pipe").c_str(), 0600), 0);
  const os::UniqueFd sparse(::open((tree / "b/sparse").c_str(), O_CREAT | O_WRONLY, 0644));
  ASSERT_EQ(::ftruncate(sparse.get(), 1 << 30), 0);
  const auto usage = scan_usage({tree.path()}, {.heaviest = 2, .suffixes = true});
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->files, 4u);
  EXPECT_EQ(usage->directories, 3u);
  EXPECT_EQ(usage->links, 1u);
  EXPECT_EQ(usage->others, 1u);
  EXPECT_EQ(usage->extra_names, 1u);
  EXPECT_EQ(usage->total.entries, 9u);
  EXPECT_EQ(usage->total.bytes, 100'003u + (1u << 30));
  EXPECT_LT(usage->total.space, 1u << 20);
  EXPECT_EQ(usage->size_counts[0], 1u);
  EXPECT_EQ(usage->size_counts[2], 1u);   // 3 bytes
  EXPECT_EQ(usage->size_counts[17], 1u);  // 65536 … 131071
  EXPECT_EQ(usage->suffix_bytes.at(".txt"), 3u);
  ASSERT_EQ(usage->owners.size(), 1u);
  EXPECT_EQ(usage->owners.begin()->second.entries, 9u);
  ASSERT_EQ(usage->heaviest.size(), 2u);
  EXPECT_EQ(usage->heaviest[0].path, tree / "b");
}

TEST(Words, sizes_numbers_and_paths) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1'200'000'000'000), "1.09 TiB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "16.0 EiB");
  EXPECT_EQ(number_text(1234567), "1,234,567");
  EXPECT_EQ(shown_path("a\nb\x1b\xff…é"), "a\\nb\\033\\377…é");
  EXPECT_EQ(parse_bytes("1.5K"), 1536u);
  EXPECT_EQ(parse_bytes("20GiB"), 20ull << 30);
  EXPECT_EQ(parse_bytes("1tb"), 1ull << 40);
  for (const char* bad : {"", "x", "5X", "-1", "1KK", "inf", "1e30T"}) EXPECT_EQ(parse_bytes(bad), 0u) << bad;
}

}  // namespace
}  // namespace minke::storage
