// A collective call between processes, as what is written to and read from each of them in which order.
//
// With P processes and T bytes; a process with several members first reduces theirs, and sends one copy to a
// process with several.
//   all-reduce     P = 2, or small: everybody sends T to everybody and reduces all; (P-1)T out of each.
//                  Else in pieces: segment j goes to process j, which reduces it and sends the result to all;
//                  2(P-1)/P T out of each. Piece c+1 is sent before the result of c is waited for.
//   reduce-scatter, all-to-all, gather, scatter, all-gather, broadcast, reduce: straight to where it is
//   wanted.
// Between machines, in two levels (transfer_levels.cc): each byte crosses once to each machine that needs it,
// and goes on through shared memory. Reductions take processes in their order whatever arrives first: results
// do not depend on timing.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "comm/call.h"
#include "comm/reduce.h"
#include "comm/stream.h"

namespace tw::comm {

// The processes of a group in the order of their numbers, and the members of each; `self` is a place in it.
struct Circle {
  std::vector<int> processes;
  std::vector<std::vector<int>> members;
  std::vector<int> hosts;  // of each process
  int self = 0;
  int size() const { return static_cast<int>(processes.size()); }
};

struct OutPiece {
  const char* data;
  size_t size;
  int needs = 0;  // goes once so many pieces have been reduced,
  int from = -1;  // and so many have come from the process at this place; -1: from none
  size_t after = 0;
};
struct InPiece {
  char* to;  // null: it is reduced
  size_t size;
  int reduced = -1;  // the piece it belongs to
};
struct ReducedPiece {
  char* output;
  const char* own;  // what this process adds
  int64_t count;
  const std::vector<int>* sources;  // the places of processes that add to it, in their order
};

class Transfer {
 public:
  // Moves what stays within the process and lists the rest. `call` is checked; its spans need not outlive
  // this.
  Transfer(const Call& call, const Circle& circle);

  // What goes to a process, and what is expected from it.
  struct Sum {
    uint64_t bytes = 0, pieces = 14695981039346656037u;  // a hash of their sizes
    void add(size_t size) {
      bytes += size;
      pieces = (pieces ^ size) * 1099511628211u;
    }
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  Sum sum_to(int place) const;
  Sum sum_from(int place) const;
  int64_t moved_bytes() const { return moved_; }
  int64_t far_bytes() const { return far_; }  // of them, those that leave the machine

  // Writes and reads what can be done now; true if that was something.
  bool push(int place, Stream& stream);
  bool pull(int place, Stream& stream);
  bool pushed(int place) const { return out_[place].at == out_[place].pieces.size(); }
  bool pulled(int place) const { return in_[place].at == in_[place].pieces.size(); }
  bool complete() const;
  // The last copies within the process, once everything is there.
  void finish();

 private:
  template <class Piece>
  struct Cursor {
    std::vector<Piece> pieces;
    size_t at = 0, offset = 0;  // the piece, and how much of it is done, padding included
  };

  void build(const Call& call);
  void all_reduce(const Call& call);
  void all_reduce_in_pieces(char* output, const char* own, int64_t count);
  void reduce_parts(const Call& call);
  void reduce_to_root(const Call& call);
  void gather(const Call& call, int root);  // -1: to all
  void scatter(const Call& call);
  void broadcast(const Call& call);
  void all_to_all(const Call& call);

  // In two levels.
  class TwoLevels;
  bool in_levels(const Call& call, int64_t count) const;  // elements in all

  const char* local_sum(const Call& call, int64_t count, char* into);
  int local_place(int member) const;  // among the addressable members; -1 for others
  int place_of(int member) const;     // of its process
  void send(int place, const char* data, int64_t count, int needs = 0);
  void forward(int place, int from, const char* data,
               int64_t count);  // what has just been expected from there
  void receive(int place, char* to, int64_t count, int reduced = -1);
  void move(char* to, const char* from, int64_t count);

  bool pull_copy(Cursor<InPiece>& in, const InPiece& piece, Stream& stream);
  bool pull_sum(int place, Cursor<InPiece>& in, const InPiece& piece, Stream& stream);
  void take_turns();
  bool may_store() const;
  bool may_go(const OutPiece& piece) const;

  const Circle& circle_;
  DType dtype_;
  Reduction reduction_;
  int64_t size_;
  std::vector<Cursor<OutPiece>> out_;
  std::vector<Cursor<InPiece>> in_;
  std::vector<ReducedPiece> pieces_;
  std::vector<std::pair<char*, const char*>> last_copies_;
  size_t last_bytes_ = 0;
  std::vector<char> scratch_, host_sums_;
  std::deque<std::vector<int>> sources_;  // of reduced pieces; the first is all places
  bool whole_ = false;                    // everybody reduces all: what is overwritten must have been sent
  int64_t moved_ = 0, far_ = 0;

  // The piece that is being reduced, whose turn it is, and how many elements of that process are in.
  std::optional<Accumulator> sums_;
  size_t piece_ = 0;
  int turn_ = 0;
  int64_t in_turn_ = 0;
};

}  // namespace tw::comm
