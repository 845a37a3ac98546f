// The identity of immutable contents: SHA-256, by Nettle.
#include <nettle/sha2.h>

#include "store/store.h"

namespace minke::store {

ContentHash hash_content(std::string_view bytes) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  ContentHash hash(SHA256_DIGEST_SIZE, '\0');
  sha256_digest(&context, hash.size(), reinterpret_cast<uint8_t*>(hash.data()));
  return hash;
}

}  // namespace minke::store
