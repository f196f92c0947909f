// Turns the pieces of a plan into a program of this process.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "boxing/program.h"

namespace tw::boxing {

class ProgramBuilder {
 public:
  ProgramBuilder(const sbp::BoxingPlanRef& plan, DType dtype, bool apart, comm::Caller caller);
  ProgramRef build();

 private:
  struct Holding {
    int slot = -1;
    sbp::Box box;
  };
  // What one rank sends another in one phase, in the order of pieces.
  struct Wire {
    int slot = -1;  // scratch
    int64_t count = 0;
    std::vector<LocalOp> moves;  // into the scratch before it is sent, or out of it
  };
  using Wires = std::map<std::pair<int64_t, int64_t>, Wire>;

  void add_holdings();
  void add_device(int64_t rank);  // of the next slot
  bool mine(int64_t rank) const;
  int64_t process_of(int64_t rank) const;
  int add_scratch(int64_t count, int64_t rank);  // on its device
  View view_in(const Holding& holding, const sbp::Box& box) const;
  View input(int64_t rank, const sbp::Box& box) const { return view_in(inputs_.at(rank), box); }
  View output(int64_t rank, const sbp::Box& box) const { return view_in(outputs_.at(rank), box); }

  // By messages.
  void add_piece(const sbp::Piece& piece);
  void fold_here(const sbp::Piece& piece);
  void pass_on(const sbp::Piece& piece, size_t at_phase, const View* source);
  void send(size_t at_phase, int64_t from, int64_t to, const View& view, const Dims& sizes);
  void receive(size_t at_phase, int64_t from, int64_t to, const View& view, const Dims& sizes);
  View receive_in_place(size_t at_phase, int64_t from, int64_t to, const Dims& sizes);
  View add_to(Wire& wire, const Dims& sizes, int64_t rank);
  void add_message(Wire& wire, const std::pair<int64_t, int64_t>& ends, bool sends, size_t at);
  void finish_wires();
  void copy(size_t at, const View& to, const View& from, const Dims& sizes);
  ProgramPhase& phase(size_t index);

  // By collective calls.
  bool add_collective();
  void add_group(const std::vector<int64_t>& positions, comm::CallKind kind);
  // A slot where these boxes of a part follow one another: the part itself if they do in it, else scratch,
  // for which copies are added: into it in phase 0, or out of it in phase 1.
  int joined(const Holding& part, const std::vector<sbp::Box>& boxes, int64_t rank, bool out_of);

  sbp::BoxingPlanRef plan_;
  bool apart_;
  comm::Caller caller_;
  Ref<Program> program_;
  std::unordered_map<int64_t, Holding> inputs_, outputs_;  // of my ranks
  Wires sends_[2], receives_[2];                           // by phase
};

}  // namespace tw::boxing
