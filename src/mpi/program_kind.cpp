#include "mpi/program_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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

// Open MPI's libmpi has had versions from 20 on; that of MPICH and its relatives is libmpi.so.12.
std::optional<Kind> kind_of_library(std::string_view name) {
  if (name.starts_with("libmpich.so") || name.starts_with("libmpi.so.12")) return Kind::kPmi;
  if (name.starts_with("libmpi.so")) return Kind::kPmix;
  return std::nullopt;
}

// Reads a program's dynamic section from its file.
class DynamicSection {
 public:
  // Returns nothing if it is not a 64 bit program, or not linked dynamically.
  static std::optional<DynamicSection> read(int file) {
    DynamicSection section;
    if (!section.read_segments(file) || !section.read_entries(file) || !section.read_names(file))
      return std::nullopt;
    return section;
  }

  std::optional<Kind> kind() const {
    for (const Elf64_Dyn& entry : entries_) {
      if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= names_.size()) continue;
      const size_t at = entry.d_un.d_val;
      const size_t end = names_.find('\0', at);
      if (const auto kind = kind_of_library(std::string_view(names_).substr(at, end - at))) return kind;
    }
    return std::nullopt;
  }

 private:
  bool read_segments(int file) {
    Elf64_Ehdr header;
    if (!read_at(file, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMostHeaders)
      return false;
    segments_.resize(header.e_phnum);
    return read_at(file, header.e_phoff, segments_.data(), segments_.size());
  }

  bool read_entries(int file) {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC || segment.p_filesz > kMostEntries * sizeof(Elf64_Dyn)) continue;
      entries_.resize(segment.p_filesz / sizeof(Elf64_Dyn));
      if (!read_at(file, segment.p_offset, entries_.data(), entries_.size())) return false;
    }
    return true;
  }

  // Reads the names that the entries point to.
  bool read_names(int file) {
    uint64_t address = 0, size = 0;  // a segment maps the address to a place in the file
    for (const Elf64_Dyn& entry : entries_) {
      if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    }
    if (size == 0 || size > kLongestNames) return false;
    names_.resize(size);
    bool found = false;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
          address - segment.p_vaddr >= segment.p_filesz)
        continue;
      found = read_at(file, segment.p_offset + (address - segment.p_vaddr), names_.data(), size);
    }
    return found;
  }

  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> entries_;
  std::string names_;
};

bool is_interpreter(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);
  const auto is = [&](std::string_view word) {  // "python3.11" as well
    return name.starts_with(word) &&
           name.find_first_not_of("0123456789.", word.size()) == std::string_view::npos;
  };
  return is("python") || is("pypy") || is("julia") || is("Rscript") || is("R");
}

}  // namespace

bool may_load_mpi(const std::string& path) {
  if (is_interpreter(path)) return true;
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char line[256];
  const ssize_t size = file ? ::pread(file.get(), line, sizeof line, 0) : -1;
  if (size < 2) return false;
  std::string_view first(line, static_cast<size_t>(size));
  if (!first.starts_with("#!")) return false;
  first = first.substr(2, first.find('\n') - 2);
  while (!first.empty()) {  // "/usr/bin/env python3 -u"
    const size_t begin = std::min(first.find_first_not_of(" \t\r"), first.size());
    const size_t end = std::min(first.find_first_of(" \t\r", begin), first.size());
    if (is_interpreter(first.substr(begin, end - begin))) return true;
    first.remove_prefix(end);
  }
  return false;
}

std::optional<Kind> kind_of_program(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return std::nullopt;
  const auto section = DynamicSection::read(file.get());
  return section ? section->kind() : std::nullopt;
}

}  // namespace minke::mpi
