#include "text/base64.h"

#include <nettle/base64.h>

#include <cstdint>

namespace minke::text {

std::string base64(std::string_view bytes) {
  std::string out(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(out.data(), bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  return out;
}

}  // namespace minke::text
