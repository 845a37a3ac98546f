#include "engine/embedded/answers/listing_in_pieces.h"

#include <chrono>
#include <utility>

#include "engine/embedded/answers/queries.h"

namespace minke::engine {

namespace {

constexpr size_t kBytesPerPart = size_t{4} << 20;
constexpr std::chrono::milliseconds kSlice{3};  // after this time others get their turn

}  // namespace

void ListingInPieces::go_on() {
  auto piece = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->show_some();
  };
  if (is_to_forecast()) {
    answer_.next_with_forecast(std::move(piece));
  } else {
    answer_.next(std::move(piece));
  }
}

void ListingInPieces::added(size_t bytes) {
  ++records_;
  bytes_ += bytes;
}

bool ListingInPieces::part_is_full() const {
  return records_ >= kRecordsPerPart || bytes_ >= kBytesPerPart;
}

void ListingInPieces::show_some() {
  if (is_to_forecast()) {
    if (!forecast_some()) return go_on();
    answer_.has_forecast();
  }
  begin_piece();
  const auto begin = std::chrono::steady_clock::now();
  for (int looks = 1; show_next(); ++looks) {
    if (part_is_full()) {
      send(false);
      if (!answer_.has_room()) return go_on();
    }
    if (looks % looks_at_once_ == 0 && std::chrono::steady_clock::now() - begin > kSlice) return go_on();
  }
  all_shown();
}

void ListingInPieces::send(bool last) {
  if (!last && records_ == 0) return;
  answer_.send(message_.message(), last);
  clear_records();
  records_ = 0;
  bytes_ = 0;
}

void ListingInPieces::finish() {
  send(true);
  answer_.end();
}

void ListingInPieces::fail(const Error& error) {
  rpc::AnswerEnvelope reply;
  rpc::set_error(reply.message(), error);
  answer_.send(reply.message(), true);
  answer_.end();
}

}  // namespace minke::engine
