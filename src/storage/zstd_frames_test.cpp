#include "storage/zstd_frames.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "os/fd.h"
#include "storage/pack_resume.h"
#include "storage/striping.h"

namespace minke::storage {
namespace {

std::string content_of(size_t size) {
  std::string text;
  for (size_t number = 0; text.size() < size; ++number) text += std::to_string(number * 7919) + "\n";
  text.resize(size);
  return text;
}

os::UniqueFd written(const std::string& content) {
  os::UniqueFd file(::memfd_create("frames", MFD_CLOEXEC));
  CheckedFile out(file.get(), 0, nullptr);
  FrameWriter writer(out, {}, 2);
  for (size_t at = 0; at < content.size(); at += 100'000)
    EXPECT_TRUE(writer.write(std::string_view(content).substr(at, 100'000)));
  EXPECT_TRUE(writer.finish());
  EXPECT_TRUE(out.finish());
  return file;
}

TEST(ZstdFrames, AreReadFromAnywhere) {
  const std::string content = content_of(5 * kFrameBytes / 2);
  const os::UniqueFd file = written(content);
  const auto reader = FrameReader::open(file.get());
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->size(), content.size());
  FrameReader::Hand hand;
  for (const auto& [at, size] : {std::pair<size_t, size_t>{0, 10},
                                 {kFrameBytes - 5, 10},
                                 {0, content.size()},
                                 {content.size() - 1, 1},
                                 {content.size(), 0}}) {
    std::string read(size, '\0');
    EXPECT_TRUE(reader->read(at, read.data(), size, hand));
    EXPECT_EQ(read, content.substr(at, size));
  }
  char byte = 0;
  EXPECT_FALSE(reader->read(content.size(), &byte, 1, hand));
  EXPECT_FALSE(reader->read(UINT64_MAX, &byte, 1, hand));
}

TEST(ZstdFrames, GoOnBehindWhatIsThere) {
  const std::string content = content_of(kFrameBytes * 2);
  const os::UniqueFd file(::memfd_create("frames", MFD_CLOEXEC));
  uint64_t end = 0;
  {
    CheckedFile out(file.get(), 0, nullptr);
    FrameWriter writer(out, {}, 1);
    ASSERT_TRUE(writer.write(content.substr(0, 12345)));
    ASSERT_TRUE(writer.flush());
    ASSERT_TRUE(out.settle());
    end = out.size();
  }
  const auto frames = walk_frames(file.get(), end);
  ASSERT_TRUE(frames);
  EXPECT_EQ(frames->size(), 1U);
  EXPECT_FALSE(walk_frames(file.get(), end - 1));
  CheckedFile out(file.get(), end, nullptr);
  FrameWriter writer(out, *frames, 1);
  ASSERT_TRUE(writer.write(content.substr(12345)));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(out.finish());
  const auto reader = FrameReader::open(file.get());
  ASSERT_TRUE(reader);
  std::string read(content.size(), '\0');
  FrameReader::Hand hand;
  ASSERT_TRUE(reader->read(0, read.data(), read.size(), hand));
  EXPECT_EQ(read, content);
}

// Whichever byte of the table differs: it is refused, or nothing outside of the file is read.
TEST(ZstdFrames, ADamagedTableDoesNoHarm) {
  const std::string content = content_of(1000);
  const os::UniqueFd whole = written(content);
  const off_t size = ::lseek(whole.get(), 0, SEEK_END);
  std::string bytes(static_cast<size_t>(size), '\0');
  ASSERT_EQ(::pread(whole.get(), bytes.data(), bytes.size(), 0), size);
  for (size_t back = 1; back <= 25; ++back) {
    for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
      std::string damaged = bytes;
      damaged[damaged.size() - back] = static_cast<char>(damaged[damaged.size() - back] ^ change);
      const os::UniqueFd file(::memfd_create("damaged", MFD_CLOEXEC));
      ASSERT_EQ(::write(file.get(), damaged.data(), damaged.size()), static_cast<ssize_t>(damaged.size()));
      const auto reader = FrameReader::open(file.get());
      if (!reader) continue;
      std::string read(std::min<uint64_t>(reader->size(), 1 << 20), '\0');
      FrameReader::Hand hand;
      if (reader->read(0, read.data(), read.size(), hand)) {
        EXPECT_EQ(read, content.substr(0, read.size()));
      }
    }
  }
}

TEST(PackNotes, AreReadAsTheyWereWrittenOrNotAtAll) {
  const int file = ::memfd_create("notes", MFD_CLOEXEC);
  PackNotes notes{os::UniqueFd(file), "set 7"};
  EXPECT_FALSE(notes.read());
  const PackCheckpoint noted{.sum = 7,
                             .files = 5,
                             .bytes = 99,
                             .shard = 2,
                             .place = {1, 2, 3, 4},
                             .last = std::string("a\nb \xff/c d")};
  notes.write(noted);
  const auto read = notes.read();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->last, noted.last);
  EXPECT_EQ(read->place.entries, 4U);
  EXPECT_EQ(read->sum, 7U);
  EXPECT_FALSE((PackNotes{os::UniqueFd(::dup(file)), "set 8"}.read()));  // notes of another archive
  const off_t size = ::lseek(file, 0, SEEK_END);
  for (off_t at = 0; at < size; ++at) {
    char byte = 0, changed = 0;
    ASSERT_EQ(::pread(file, &byte, 1, at), 1);
    changed = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(file, &changed, 1, at), 1);
    EXPECT_FALSE(notes.read()) << at;
    ASSERT_EQ(::pwrite(file, &byte, 1, at), 1);
  }
  EXPECT_TRUE(notes.read());
}

TEST(Striping, GrowsWithTheFile) {
  EXPECT_EQ(stripes_for(0), 1U);
  EXPECT_EQ(stripes_for((uint64_t{1} << 30) - 1), 1U);
  EXPECT_EQ(stripes_for(uint64_t{1} << 30), 4U);
  EXPECT_EQ(stripes_for(uint64_t{5} << 30), 6U);
  EXPECT_EQ(stripes_for(uint64_t{1} << 50), 8U);
}

}  // namespace
}  // namespace minke::storage
