#include "mpi/program_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "os/fd.h"

namespace minke::mpi {
namespace {

constexpr size_t kMostHeaders = 128;
constexpr size_t kMostEntries = 4096;
constexpr size_t kLongestNames = size_t{4} << 20;

template <typename Item>
bool read_at(int fd, uint64_t offset, Item* items, size_t count) {
  const size_t size = count * sizeof(Item);
  return offset <= INT64_MAX &&
         ::pread(fd, items, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// Open MPI's libmpi has had numbers from 20 on; that of MPICH's relatives is libmpi.so.12.
std::optional<Kind> kind_of_library(std::string_view name) {
  if (name.starts_with("libmpich.so") || name.starts_with("libmpi.so.12")) return Kind::kPmi;
  if (name.starts_with("libmpi.so")) return Kind::kPmix;
  return std::nullopt;
}

}  // namespace

std::optional<Kind> kind_of_program(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Elf64_Ehdr header;
  if (!file || !read_at(file.get(), 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMostHeaders)
    return std::nullopt;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!read_at(file.get(), header.e_phoff, segments.data(), segments.size())) return std::nullopt;
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC || segment.p_filesz > kMostEntries * sizeof(Elf64_Dyn)) continue;
    entries.resize(segment.p_filesz / sizeof(Elf64_Dyn));
    if (!read_at(file.get(), segment.p_offset, entries.data(), entries.size())) return std::nullopt;
  }
  uint64_t names_at = 0, names_size = 0;  // the first is an address; a segment says where that is in the file
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) names_at = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) names_size = entry.d_un.d_val;
  }
  if (names_size == 0 || names_size > kLongestNames) return std::nullopt;
  std::string names(names_size, '\0');
  bool found = false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || names_at < segment.p_vaddr ||
        names_at - segment.p_vaddr >= segment.p_filesz)
      continue;
    found = read_at(file.get(), segment.p_offset + (names_at - segment.p_vaddr), names.data(), names_size);
  }
  if (!found) return std::nullopt;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= names.size()) continue;
    const size_t at = entry.d_un.d_val;
    const size_t end = names.find('\0', at);
    if (const auto kind = kind_of_library(std::string_view(names).substr(at, end - at))) return kind;
  }
  return std::nullopt;
}

}  // namespace minke::mpi
