// ListingInPieces: base of lists that are made in pieces (flow_control.h). Lists of jobs, steps, priorities,
// nodes and partitions differ in their records and share the delivery.
//
// A piece takes some milliseconds. A message has up to some hundred records; the next one is made when the
// client has read the previous ones. The state may change between pieces: a record shows it as it was when
// its piece was made. State's thread; belongs to its LongAnswer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "engine/embedded/server/flow_control.h"
#include "engine/embedded/state/state.h"
#include "rpc/envelope.h"

namespace minke::engine {

class ListingInPieces : public std::enable_shared_from_this<ListingInPieces> {
 public:
  static constexpr int kRecordsPerPart = 500;

  // `looks_at_once`: the number of show_next() calls between two checks of the time that the piece takes.
  explicit ListingInPieces(LongAnswer& answer, int looks_at_once = 100)
      : answer_(answer), looks_at_once_(looks_at_once) {}
  virtual ~ListingInPieces() = default;
  ListingInPieces(const ListingInPieces&) = delete;
  ListingInPieces& operator=(const ListingInPieces&) = delete;

  void begin() { go_on(); }

 protected:
  // Whether a forecast is to be made before the first item; forecast_some() makes a slice of it. True: it is
  // finished.
  virtual bool is_to_forecast() const { return false; }
  virtual bool forecast_some() { return true; }
  // Looks at the next item, and may add records to the message. False: there is no next item.
  virtual bool show_next() = 0;
  virtual void begin_piece() {}
  virtual void all_shown() { finish(); }
  virtual void clear_records() = 0;  // of the message, after it was sent
  void added(size_t bytes);          // call it for each record
  void send(bool last);              // sends what there is; unless `last`, only if there is something
  void finish();
  void fail(const Error& error);

  LongAnswer& answer_;
  template <typename Reply>
  Reply& reply() {
    return message_.body<Reply>();
  }

 private:
  void go_on();
  void show_some();
  bool part_is_full() const;

  rpc::AnswerEnvelope message_;
  const int looks_at_once_;
  int records_ = 0;  // in the message
  size_t bytes_ = 0;
};

}  // namespace minke::engine
