// A list that is made in pieces (flow_control.h): lists of jobs, steps, priorities, nodes and partitions have
// each their own records, and share how they are dealt out.
//
// A piece takes some milliseconds. Messages have some hundred records each, and the next ones are made when
// the client has read what there was before. What is listed may change between two pieces: each record is
// shown as it was when its piece was made. State's thread; belongs to its LongAnswer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "engine/embedded/server/flow_control.h"
#include "engine/embedded/state/state.h"
#include "rpc/messages.pb.h"

namespace minke::engine {

class ListingInPieces : public std::enable_shared_from_this<ListingInPieces> {
 public:
  static constexpr int kRecordsPerPart = 500;

  // `looks_at_once`: at what is listed, before it is asked whether the piece has taken its time.
  explicit ListingInPieces(LongAnswer& answer, int looks_at_once = 100)
      : answer_(answer), looks_at_once_(looks_at_once) {}
  virtual ~ListingInPieces() = default;
  ListingInPieces(const ListingInPieces&) = delete;
  ListingInPieces& operator=(const ListingInPieces&) = delete;

  void begin() { go_on(); }

 protected:
  // Looks at what comes next, which may add records to the message. False: there is nothing any more.
  virtual bool show_next() = 0;
  virtual void begin_piece() {}
  virtual void all_shown() { finish(); }
  virtual void clear_records() = 0;  // of the message: they have been sent
  void added(size_t bytes);          // a record
  void send(bool last);              // what there is; but for the last, only if there is something
  void finish();
  void fail(const Error& error);

  LongAnswer& answer_;
  rpc::ServerMessage message_;

 private:
  void go_on();
  void show_some();
  bool part_is_full() const;

  const int looks_at_once_;
  int records_ = 0;  // in the message
  size_t bytes_ = 0;
};

// All jobs in memory, by id, for a listing. Between two pieces it keeps its place, and not the job.
class JobWalk {
 public:
  explicit JobWalk(const State& state) : jobs_(state.jobs()) {}
  void begin_piece() {
    at_ = next_id_ > kLastId ? jobs_.end() : jobs_.lower_bound(static_cast<uint32_t>(next_id_));
  }
  const Job* job() const { return at_ == jobs_.end() ? nullptr : at_->second.get(); }
  void advance() {
    next_id_ = uint64_t{at_->first} + 1;
    ++at_;
  }

 private:
  static constexpr uint64_t kLastId = 0xffffffff;
  const State::Jobs& jobs_;
  State::Jobs::const_iterator at_ = jobs_.end();
  uint64_t next_id_ = 0;
};

}  // namespace minke::engine
