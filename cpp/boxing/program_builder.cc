// Between processes pieces go by messages: phase 0 brings contributions to where they are folded (and copies
// to where they are wanted), phase 1 the folded values to where they are wanted, phase 2 puts them in place.
// One message goes from a rank to another in a phase; what several ranks of a process want is sent to the
// first.
#include "boxing/program_builder.h"

#include <algorithm>

#include "base/error.h"
#include "comm/world.h"

namespace tw::boxing {

namespace {

View dense_view(int slot, int64_t offset, const Dims& sizes) {
  return {slot, offset, contiguous_strides(sizes), true};
}

}  // namespace

ProgramBuilder::ProgramBuilder(const sbp::BoxingPlanRef& plan, DType dtype, bool apart, comm::Caller caller)
    : plan_(plan), apart_(apart), caller_(caller), program_(make_ref<Program>()) {
  program_->plan = plan;
  program_->dtype = dtype;
  program_->type = device::parse_device(plan->from->placement->type).type;
}

bool ProgramBuilder::mine(int64_t rank) const { return comm::world().addressable(static_cast<int>(rank)); }

int64_t ProgramBuilder::process_of(int64_t rank) const {
  return apart_ ? rank : comm::world().process_of(static_cast<int>(rank));
}

void ProgramBuilder::add_holdings() {
  int slot = 0;
  for (auto [layout, holdings] : {std::pair(plan_->from.get(), &inputs_), {plan_->to.get(), &outputs_}}) {
    for (int64_t position = 0; position < layout->placement->count(); position++) {
      int64_t rank = layout->placement->ranks[position];
      if (!mine(rank)) continue;
      (*holdings)[rank] = {slot++, box_of(*layout, plan_->sizes, position)};
      add_device(rank);
    }
  }
  program_->inputs = static_cast<int>(inputs_.size());
  program_->outputs = static_cast<int>(outputs_.size());
}

ProgramRef ProgramBuilder::build() {
  add_holdings();
  phase(0);
  if (plan_->bytes > 0 && add_collective()) return program_;
  // Two devices of one process fold a piece once.
  std::vector<sbp::Piece> pieces;
  for (const sbp::Piece& piece : plan_->pieces) {
    auto same = [&](const sbp::Piece& p) {
      return piece.sources.size() > 1 && p.box == piece.box && p.sources == piece.sources &&
             process_of(p.at) == process_of(piece.at);
    };
    auto known = pieces.empty() ? pieces.end() : pieces.end() - 1;
    if (known != pieces.end() && same(*known))
      known->targets.append(piece.targets.begin(), piece.targets.end());
    else
      pieces.push_back(piece);
  }
  for (const sbp::Piece& piece : pieces) add_piece(piece);
  finish_wires();
  return program_;
}

ProgramPhase& ProgramBuilder::phase(size_t index) {
  if (program_->phases.size() <= index) program_->phases.resize(index + 1);
  return program_->phases[index];
}

void ProgramBuilder::add_device(int64_t rank) {
  if (program_->type != device::DeviceType::kCpu)
    program_->devices.push_back(comm::world().device_of(static_cast<int>(rank), program_->type).index);
}

int ProgramBuilder::add_scratch(int64_t count, int64_t rank) {
  program_->scratch.push_back(count);
  add_device(rank);
  return program_->inputs + program_->outputs + static_cast<int>(program_->scratch.size()) - 1;
}

View ProgramBuilder::view_in(const Holding& holding, const sbp::Box& box) const {
  View view{holding.slot, 0, contiguous_strides(holding.box.sizes), false};
  for (size_t dim = 0; dim < box.first.size(); dim++)
    view.offset += (box.first[dim] - holding.box.first[dim]) * view.strides[dim];
  view.dense = is_contiguous(box.sizes, view.strides);
  return view;
}

void ProgramBuilder::copy(size_t at, const View& to, const View& from, const Dims& sizes) {
  phase(at).ops.push_back({sizes, numel(sizes), to, {from}, {}, sbp::ReduceOp::kSum});
}

void ProgramBuilder::add_piece(const sbp::Piece& piece) {
  if (piece.sources.empty()) {
    for (int64_t rank : piece.targets)
      if (mine(rank))
        phase(0).ops.push_back(
            {piece.box.sizes, numel(piece.box.sizes), output(rank, piece.box), {}, {}, piece.fill});
  } else if (piece.sources.size() > 1) {
    fold_here(piece);
  } else {
    View source = mine(piece.at) ? input(piece.at, piece.box) : View();
    pass_on(piece, 0, mine(piece.at) ? &source : nullptr);
  }
}

void ProgramBuilder::fold_here(const sbp::Piece& piece) {
  const Dims& sizes = piece.box.sizes;
  SmallVector<View, 4> from;
  for (int64_t rank : piece.sources) {
    bool near = process_of(rank) == process_of(piece.at);
    if (!near && mine(rank)) send(0, rank, piece.at, input(rank, piece.box), sizes);
    if (!mine(piece.at)) continue;
    from.push_back(near ? input(rank, piece.box) : receive_in_place(0, rank, piece.at, sizes));
  }
  View result;
  if (mine(piece.at)) {
    auto here = std::ranges::find_if(piece.targets,
                                     [&](int64_t rank) { return process_of(rank) == process_of(piece.at); });
    result = here != piece.targets.end() ? output(*here, piece.box)
                                         : dense_view(add_scratch(numel(sizes), piece.at), 0, sizes);
    phase(1).ops.push_back({sizes, numel(sizes), result, std::move(from), piece.folds, sbp::ReduceOp::kSum});
  }
  pass_on(piece, 1, mine(piece.at) ? &result : nullptr);
}

// From `at`, where `source` is, to the targets.
void ProgramBuilder::pass_on(const sbp::Piece& piece, size_t at_phase, const View* source) {
  const Dims& sizes = piece.box.sizes;
  std::unordered_map<int64_t, int64_t> first_of;  // process → the target that is sent to
  for (int64_t rank : piece.targets) {
    int64_t process = process_of(rank);
    bool near = process == process_of(piece.at);
    auto [first, is_first] = first_of.try_emplace(process, rank);
    if (near) {
      if (!mine(rank)) continue;
      View to = output(rank, piece.box);
      if (to.slot != source->slot) copy(at_phase, to, *source, sizes);
    } else if (is_first) {
      if (source) send(at_phase, piece.at, rank, *source, sizes);
      if (mine(rank)) receive(at_phase, piece.at, rank, output(rank, piece.box), sizes);
    } else if (mine(rank)) {
      copy(at_phase + 1, output(rank, piece.box), output(first->second, piece.box), sizes);
    }
  }
}

View ProgramBuilder::add_to(Wire& wire, const Dims& sizes, int64_t rank) {
  if (wire.slot < 0) wire.slot = add_scratch(0, rank);
  View view = dense_view(wire.slot, wire.count, sizes);
  wire.count += numel(sizes);
  program_->scratch[wire.slot - program_->inputs - program_->outputs] = wire.count;
  return view;
}

void ProgramBuilder::send(size_t at_phase, int64_t from, int64_t to, const View& view, const Dims& sizes) {
  Wire& wire = sends_[at_phase][{from, to}];
  View packed = add_to(wire, sizes, from);
  wire.moves.push_back({sizes, numel(sizes), packed, {view}, {}, sbp::ReduceOp::kSum});
}

void ProgramBuilder::receive(size_t at_phase, int64_t from, int64_t to, const View& view, const Dims& sizes) {
  Wire& wire = receives_[at_phase][{from, to}];
  View packed = add_to(wire, sizes, to);
  wire.moves.push_back({sizes, numel(sizes), view, {packed}, {}, sbp::ReduceOp::kSum});
}

View ProgramBuilder::receive_in_place(size_t at_phase, int64_t from, int64_t to, const Dims& sizes) {
  return add_to(receives_[at_phase][{from, to}], sizes, to);
}

// The scratch of a wire is not needed where it would be a copy of one dense stretch of a part.
void ProgramBuilder::add_message(Wire& wire, const std::pair<int64_t, int64_t>& ends, bool sends, size_t at) {
  PostedMessage message{sends,
                        program_->group->member_of(static_cast<int>(ends.first)),
                        program_->group->member_of(static_cast<int>(ends.second)),
                        wire.slot,
                        0,
                        wire.count};
  if (wire.moves.size() == 1 && wire.moves[0].count == wire.count) {
    const View& part = sends ? wire.moves[0].from[0] : wire.moves[0].to;
    if (part.dense) {
      message.slot = part.slot;
      message.offset = part.offset;
      wire.moves.clear();
      program_->scratch[wire.slot - program_->inputs - program_->outputs] = 0;
    }
  }
  phase(at).messages.push_back(message);
}

// In each phase: what arrived is put in place, then comes what was there, then what is sent is packed.
void ProgramBuilder::finish_wires() {
  // Of all processes, not of this one: whoever has nothing to send counts the boxing too (see next_tag).
  bool exchanges[2] = {false, false};
  for (const sbp::Piece& piece : plan_->pieces) {
    if (piece.sources.empty()) continue;
    auto far = [&](int64_t rank) { return process_of(rank) != process_of(piece.at); };
    exchanges[0] |= std::ranges::any_of(piece.sources, far);
    exchanges[piece.sources.size() > 1] |= std::ranges::any_of(piece.targets, far);
  }
  if (!exchanges[0] && !exchanges[1]) {  // all is local: one phase
    for (size_t i = 1; i < program_->phases.size(); i++)
      for (LocalOp& op : program_->phases[i].ops) phase(0).ops.push_back(std::move(op));
    program_->phases.resize(1);
    return;
  }
  program_->group =
      comm::Group::of(std::vector<int>(plan_->ranks.begin(), plan_->ranks.end()), caller_, program_->type);
  phase(2);
  for (size_t i : {0, 1}) {
    phase(i).exchanges = exchanges[i];
    std::vector<LocalOp> unpacked;
    for (auto& [ends, wire] : receives_[i]) {
      add_message(wire, ends, false, i);
      for (LocalOp& op : wire.moves) unpacked.push_back(std::move(op));
    }
    std::vector<LocalOp>& next = phase(i + 1).ops;
    next.insert(next.begin(), unpacked.begin(), unpacked.end());
    for (auto& [ends, wire] : sends_[i]) {
      add_message(wire, ends, true, i);
      for (LocalOp& op : wire.moves) phase(i).ops.push_back(std::move(op));
    }
  }
}

}  // namespace tw::boxing
