#include "portal/frames.h"

#include <cstring>
#include <utility>

namespace minke::portal {
namespace {

constexpr size_t kMostHeaders = 16;

void put(std::string& out, uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

void put(std::string& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out += text;
}

// Reads fields one after the other; after the first that is not whole, all are empty.
class Fields {
 public:
  explicit Fields(std::string_view rest) : rest_(rest) {}

  uint64_t number() {
    uint64_t value = 0;
    if (rest_.size() < sizeof value) return fail();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  bool are_whole() const { return !failed_ && rest_.empty(); }

 private:
  uint64_t fail() {
    failed_ = true;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool failed_ = false;
};

// No line of an answer's head may be another's beginning.
bool is_header_text(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return false;
  return true;
}

bool is_allowed_header(std::string_view name) {
  return name == "Allow" || name == "ETag" || name == "Cache-Control" || name == "Content-Disposition";
}

bool read_reply(Fields& fields, Reply& reply) {
  constexpr uint64_t kLeast = 200, kMost = 599;
  const uint64_t status = fields.number();
  reply.is_compressed = fields.number() != 0;
  reply.type = fields.text();
  const uint64_t headers = fields.number();
  if (status < kLeast || status > kMost || headers > kMostHeaders || !is_header_text(reply.type))
    return false;
  reply.status = static_cast<unsigned>(status);
  for (uint64_t i = 0; i < headers; ++i) {
    std::string name = fields.text(), value = fields.text();
    if (!is_allowed_header(name) || !is_header_text(value)) return false;
    reply.headers.emplace_back(std::move(name), std::move(value));
  }
  reply.body = fields.text();
  return true;
}

bool read_frame(std::string_view bytes, Frame& frame) {
  Fields fields(bytes);
  frame.kind = static_cast<FrameKind>(fields.number());
  frame.number = fields.number();
  switch (frame.kind) {
    case FrameKind::kAsk:
      frame.request.method = fields.text();
      frame.request.target = fields.text();
      frame.request.headers.emplace_back("accept-encoding", fields.text());
      frame.request.body = fields.text();
      break;
    case FrameKind::kListeners:
      break;
    case FrameKind::kReply:
      if (!read_reply(fields, frame.reply)) return false;
      break;
    case FrameKind::kConnect:
      frame.name = fields.text();
      break;
    case FrameKind::kEvent:
    case FrameKind::kConnected:
      frame.name = fields.text();
      frame.data = fields.text();
      if (!is_header_text(frame.name) || !is_header_text(frame.data)) return false;
      break;
    default:
      return false;
  }
  return fields.are_whole();
}

}  // namespace

std::string frame_bytes(const Frame& frame) {
  std::string body;
  put(body, static_cast<uint64_t>(frame.kind));
  put(body, frame.number);
  if (frame.kind == FrameKind::kAsk) {
    put(body, frame.request.method);
    put(body, frame.request.target);
    put(body, frame.request.header("accept-encoding"));
    put(body, frame.request.body);
  } else if (frame.kind == FrameKind::kReply) {
    put(body, uint64_t{frame.reply.status});
    put(body, uint64_t{frame.reply.is_compressed});
    put(body, frame.reply.type);
    uint64_t headers = 0;
    for (const auto& [name, value] : frame.reply.headers) headers += is_allowed_header(name) ? 1 : 0;
    put(body, headers);
    for (const auto& [name, value] : frame.reply.headers) {
      if (!is_allowed_header(name)) continue;
      put(body, name);
      put(body, value);
    }
    put(body, frame.reply.lasting.empty() ? std::string_view(frame.reply.body) : frame.reply.lasting);
  } else if (frame.kind == FrameKind::kConnect) {
    put(body, frame.name);
  } else if (frame.kind == FrameKind::kEvent || frame.kind == FrameKind::kConnected) {
    put(body, frame.name);
    put(body, frame.data);
  }
  std::string bytes;
  bytes.reserve(body.size() + sizeof(uint64_t));
  put(bytes, body);
  return bytes;
}

std::optional<Frame> FrameReader::next() {
  if (has_failed_ || buffer_.size() < sizeof(uint64_t)) return std::nullopt;
  uint64_t size = 0;
  std::memcpy(&size, buffer_.data(), sizeof size);
  if (size > most_) {
    has_failed_ = true;
    return std::nullopt;
  }
  if (buffer_.size() - sizeof size < size) return std::nullopt;
  Frame frame;
  has_failed_ = !read_frame(std::string_view(buffer_).substr(sizeof size, size), frame);
  buffer_.erase(0, sizeof size + size);
  if (buffer_.empty()) buffer_.shrink_to_fit();
  if (has_failed_) return std::nullopt;
  return frame;
}

}  // namespace minke::portal
