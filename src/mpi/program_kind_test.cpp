#include "mpi/program_kind.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::mpi {
namespace {

// A program that needs one library: a header, two segments, the dynamic section and its names.
std::string program(const std::string& library) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const std::string names = std::string(1, '\0') + "libc.so.6" + '\0' + library + '\0';
  constexpr uint64_t kAddress = 0x400000;
  Elf64_Dyn entries[4] = {};
  entries[0].d_tag = DT_NEEDED;
  entries[0].d_un.d_val = 1;
  entries[1].d_tag = DT_NEEDED;
  entries[1].d_un.d_val = 11;
  entries[2].d_tag = DT_STRTAB;
  entries[3].d_tag = DT_STRSZ;
  entries[3].d_un.d_val = names.size();
  Elf64_Phdr segments[2] = {};
  const uint64_t dynamic = sizeof header + sizeof segments;
  entries[2].d_un.d_ptr = kAddress + dynamic + sizeof entries;
  segments[0].p_type = PT_LOAD;
  segments[0].p_vaddr = kAddress;
  segments[0].p_filesz = dynamic + sizeof entries + names.size();
  segments[1].p_type = PT_DYNAMIC;
  segments[1].p_offset = dynamic;
  segments[1].p_filesz = sizeof entries;
  const auto bytes = [](const auto& object) {
    return std::string(reinterpret_cast<const char*>(&object), sizeof object);
  };
  return bytes(header) + bytes(segments) + bytes(entries) + names;
}

std::optional<Kind> kind_of(const std::string& content) {
  const os::UniqueFd file(::memfd_create("program", MFD_CLOEXEC));
  MINKE_CHECK(file &&
              ::write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  return kind_of_program("/proc/self/fd/" + std::to_string(file.get()));
}

TEST(ProgramKind, InterpretersMayLoadALibrary) {
  for (const char* name :
       {"/usr/bin/python3", "/opt/venv/bin/python3.12", "python", "/usr/bin/julia", "/usr/bin/R"})
    EXPECT_TRUE(may_load_mpi(name)) << name;
  for (const char* name : {"/bin/sh", "/usr/bin/python3-config", "/usr/bin/Rx", "/nosuch/file", ""})
    EXPECT_FALSE(may_load_mpi(name)) << name;
  const auto script = [](const std::string& content) {
    const os::UniqueFd file(::memfd_create("script", MFD_CLOEXEC));
    MINKE_CHECK(file &&
                ::write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    return may_load_mpi("/proc/self/fd/" + std::to_string(file.get()));
  };
  EXPECT_TRUE(script("#!/usr/bin/python3\nprint(1)\n"));
  EXPECT_TRUE(script("#! /usr/bin/env python3 -u\n"));
  EXPECT_TRUE(script("#!/usr/bin/julia"));
  EXPECT_FALSE(script("#!/bin/sh\npython3\n"));
  EXPECT_FALSE(script("#!"));
  EXPECT_FALSE(script(""));
}

TEST(ProgramKind, ByTheLibrary) {
  EXPECT_EQ(kind_of(program("libmpi.so.40")), Kind::kPmix);
  EXPECT_EQ(kind_of(program("libmpi.so.12")), Kind::kPmi);
  EXPECT_EQ(kind_of(program("libmpich.so.12")), Kind::kPmi);
  EXPECT_EQ(kind_of(program("libm.so.6")), std::nullopt);
}

TEST(ProgramKind, NothingOfOtherFiles) {
  EXPECT_EQ(kind_of_program("/nosuch"), std::nullopt);
  EXPECT_EQ(kind_of_program("/proc/self/exe"), std::nullopt);
  EXPECT_EQ(kind_of("#!/bin/sh\necho libmpi.so.40\n"), std::nullopt);
  const std::string whole = program("libmpi.so.40");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(kind_of(whole.substr(0, size)), std::nullopt) << size;
}

}  // namespace
}  // namespace minke::mpi
