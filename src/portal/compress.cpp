#include "portal/compress.h"

#include <libdeflate.h>

#include <memory>

namespace minke::portal {
namespace {

constexpr int kFast = 1;
constexpr size_t kMostUncompressed = size_t{16} << 20;

}  // namespace

std::string compressed(std::string_view text) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(kFast), &libdeflate_free_compressor);
  std::string out;
  if (compressor == nullptr) return out;
  out.resize(text.size());
  out.resize(libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), out.data(), out.size()));
  return out;
}

std::string uncompressed(std::string_view gzip) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  std::string out;
  if (decompressor == nullptr) return out;
  for (size_t size = gzip.size() * 8 + 4096; size <= kMostUncompressed; size *= 2) {
    out.resize(size);
    size_t actual = 0;
    const auto result = libdeflate_gzip_decompress(decompressor.get(), gzip.data(), gzip.size(), out.data(),
                                                   out.size(), &actual);
    if (result == LIBDEFLATE_SUCCESS) return out.resize(actual), out;
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) break;
  }
  return {};
}

}  // namespace minke::portal
