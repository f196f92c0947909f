#include "device/cpu/reduce.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "device/cpu/parallel.h"
#include "device/cpu/strided.h"

namespace tw::device {

uint64_t reduce_mask(const Dims& dims, int64_t rank) {
  TW_CHECK(rank <= 64, kRuntime, "a tensor of at most 64 dims can be reduced, got ", rank);
  if (dims.empty()) return rank == 64 ? ~uint64_t{0} : (uint64_t{1} << rank) - 1;
  uint64_t mask = 0;
  for (int64_t dim : dims) mask |= uint64_t{1} << dim;
  return mask;
}

namespace detail {

namespace {

constexpr int64_t kSpan = 8192;           // elements in a block of a run
constexpr int64_t kRowsPerBlock = 256;    // rows in a block of a tile
constexpr int64_t kTileBytes = 16 << 10;  // accumulators of a tile
constexpr int64_t kMaxTile = 1024;        // outputs of a tile
constexpr int64_t kShortRun = 16;         // shorter runs are worked on as tiles
constexpr int64_t kLongRow = 128;         // kept rows this long are cut into tiles without gathering
constexpr int64_t kGrainBytes = 192 << 10;

// The dims of the input, apart: those of the outputs (operands: input, output) and the reduced ones (input).
struct ReduceSpaces {
  StridedSpace kept, reduced;
};

ReduceSpaces make_spaces(const Operand& in, const Operand& out, uint64_t mask, const uint8_t* sizes) {
  SmallVector<StridedSpace::Dim, 4> kept, reduced;
  bool keepdim = out.rank() == in.rank();
  int64_t out_dim = 0;
  for (int64_t d = 0; d < in.rank(); d++) {
    StridedSpace::Dim dim{in.size(d), {wrapping_product(in.stride(d), sizes[0])}};
    if (mask >> d & 1) {
      reduced.push_back(dim);
      out_dim += keepdim;
    } else {
      TW_ASSERT(out_dim, <, out.rank());
      TW_ASSERT(out.size(out_dim), ==, dim.size);
      dim.stride[1] = wrapping_product(out.stride(out_dim++), sizes[1]);
      kept.push_back(dim);
    }
  }
  char* data[] = {in.as<char>(), out.as<char>()};
  return {StridedSpace(kept, data, sizes, 2), StridedSpace(reduced, data, sizes, 1)};
}

// Combines a sequence of accumulators as a binary counter does (step 3 in the header).
class Counter {
 public:
  Counter(const ReduceParts& parts, const void* functions, int64_t width)
      : parts_(parts), functions_(functions), width_(width) {}

  void add(const char* acc) {
    int level = 0;
    for (; count_ >> level & 1; level++) {
      char* earlier = slot(level);
      parts_.merge(functions_, width_, earlier, acc);
      acc = earlier;
    }
    std::copy_n(acc, bytes(), slot(level));
    count_++;
  }

  // What was added, combined; at least one addition must have been made.
  const char* total() {
    char* sum = nullptr;
    for (int level = 0; count_ >> level; level++) {
      if (!(count_ >> level & 1)) continue;
      if (sum) parts_.merge(functions_, width_, slot(level), sum);
      sum = slot(level);
    }
    return sum;
  }

 private:
  int64_t bytes() const { return width_ * parts_.acc_size; }
  char* slot(int level) {
    while (static_cast<int>(slots_.size()) <= level) slots_.emplace_back(bytes());
    return slots_[level].data();
  }

  const ReduceParts& parts_;
  const void* functions_;
  int64_t width_;
  uint64_t count_ = 0;
  std::vector<std::vector<char>> slots_;
};

// A unit is one output (by spans) or a tile of them; its reduced elements come in blocks.
class Reduction {
 public:
  Reduction(const ReduceParts& parts, const void* functions, const ReduceSpaces& spaces)
      : parts_(parts), f_(functions), kept_(spaces.kept), reduced_(spaces.reduced) {
    int64_t run_stride = std::abs(reduced_.inner_stride(0)), kept_stride = std::abs(kept_.inner_stride(0));
    bool kept_is_denser = kept_.count() > 1 && kept_stride < run_stride;
    by_tiles_ = kept_is_denser || (reduced_.inner_size() < kShortRun && kept_.count() >= kLongRow);
    tile_ = by_tiles_ ? std::min(kMaxTile, kTileBytes / parts.acc_size) : 1;
    by_rows_ = by_tiles_ && kept_.inner_size() >= kLongRow;
    tiles_per_row_ = by_rows_ ? (kept_.inner_size() + tile_ - 1) / tile_ : 0;
    units_ =
        by_rows_ ? kept_.count() / kept_.inner_size() * tiles_per_row_ : (kept_.count() + tile_ - 1) / tile_;
    dense_ = by_tiles_ ? (by_rows_ ? kept_.inner_stride(0) == parts.in_size : kept_.is_dense(0))
                       : reduced_.is_dense(0);
    block_ = by_tiles_ ? kRowsPerBlock : kSpan;
    if (by_tiles_) widen();
    blocks_ = (reduced_.count() + block_ - 1) / block_;
  }

  void run() {
    int64_t grain_elements = kGrainBytes / parts_.in_size;
    if (blocks_ <= 1 || units_ >= 4 * num_threads()) {
      int64_t unit_elements = std::max<int64_t>(1, reduced_.count() * std::min(tile_, kept_.count()));
      parallel_for(0, units_, std::max<int64_t>(1, grain_elements / unit_elements),
                   [&](int64_t first, int64_t last) { run_units(first, last); });
    } else {
      run_blocks(std::max<int64_t>(1, grain_elements / (block_ * std::min(tile_, kept_.count()))));
    }
  }

 private:
  struct Unit {
    int64_t first, width;  // outputs, in the order of the kept space
  };
  Unit unit(int64_t u) const {
    if (!by_rows_) return {u * tile_, std::min(tile_, kept_.count() - u * tile_)};
    int64_t in_row = u % tiles_per_row_ * tile_;
    return {u / tiles_per_row_ * kept_.inner_size() + in_row, std::min(tile_, kept_.inner_size() - in_row)};
  }

  // Where rows lie one after the other and are short, several count as one: their accumulators are folded per
  // block.
  void widen() {
    int64_t width = kept_.count();
    if (!kept_.is_dense(0) || reduced_.rank() != 1 || reduced_.inner_stride(0) != width * parts_.in_size)
      return;
    while (2 * fold_ * width <= tile_ && 2 * fold_ <= reduced_.count()) fold_ *= 2;
    block_ *= fold_;
  }

  // One run for each output, the usual case.
  void run_spans(int64_t first, int64_t last) const {
    alignas(64) char acc[kTileBytes];
    StridedCursor at(kept_, first);
    for (int64_t u = first; u < last; u++, at.advance(1)) {
      parts_.span(f_, reduced_.count(), acc, at.data(0));
      parts_.finish(f_, 1, at.data(1), acc);
    }
  }

  // Units one after the other, each with all its blocks.
  void run_units(int64_t first, int64_t last) const {
    if (!by_tiles_ && dense_ && blocks_ == 1) return run_spans(first, last);
    alignas(64) char acc[kTileBytes];
    for (int64_t u = first; u < last; u++) {
      Unit outputs = unit(u);
      if (blocks_ == 0) parts_.identity(f_, outputs.width, acc);
      if (blocks_ <= 1) {
        if (blocks_ == 1) reduce_block(outputs, 0, acc);
        write(outputs, acc);
        continue;
      }
      Counter counter(parts_, f_, outputs.width);
      for (int64_t block = 0; block < blocks_; block++) {
        reduce_block(outputs, block, acc);
        counter.add(acc);
      }
      write(outputs, counter.total());
    }
  }

  // Every block of every unit by itself, then each unit's blocks combined.
  void run_blocks(int64_t grain) const {
    int64_t slot = std::min(tile_, kept_.count()) * parts_.acc_size;
    std::vector<char> partials(units_ * blocks_ * slot);
    parallel_for(0, units_ * blocks_, grain, [&](int64_t first, int64_t last) {
      alignas(64) char acc[kTileBytes];
      for (int64_t task = first; task < last; task++) {
        Unit outputs = unit(task / blocks_);
        reduce_block(outputs, task % blocks_, acc);
        std::copy_n(acc, outputs.width * parts_.acc_size, partials.data() + task * slot);
      }
    });
    for (int64_t u = 0; u < units_; u++) {
      Counter counter(parts_, f_, unit(u).width);
      for (int64_t block = 0; block < blocks_; block++)
        counter.add(partials.data() + (u * blocks_ + block) * slot);
      write(unit(u), counter.total());
    }
  }

  void reduce_block(const Unit& outputs, int64_t block, char* acc) const {
    int64_t first = block * block_, n = std::min(block_, reduced_.count() - first);
    if (!by_tiles_)
      reduce_run(outputs, first, n, acc);
    else if (fold_ > 1)
      reduce_folded(outputs, first, n, acc);
    else
      reduce_rows(outputs, first, n, acc);
  }

  void reduce_run(const Unit& outputs, int64_t first, int64_t n, char* acc) const {
    int64_t base = StridedCursor(kept_, outputs.first).offset(0);
    if (dense_) return parts_.span(f_, n, acc, kept_.data(0) + base + first * parts_.in_size);
    alignas(64) char buffer[kSpan * kMaxElement];
    StridedCursor(reduced_, first).move(0, n, buffer, /*scatter=*/false, base);
    parts_.span(f_, n, acc, buffer);
  }

  void reduce_rows(const Unit& outputs, int64_t first, int64_t n, char* acc) const {
    alignas(64) char buffer[kMaxTile * kMaxElement];
    parts_.identity(f_, outputs.width, acc);
    StridedCursor tile(kept_, outputs.first), row(reduced_, first);
    for (int64_t r = 0; r < n; r++, row.advance(1)) {
      const char* source = tile.data(0) + row.offset(0);
      if (!dense_) {
        tile.move(0, outputs.width, buffer, /*scatter=*/false, row.offset(0));
        source = buffer;
      }
      parts_.accumulate(f_, outputs.width, acc, source);
    }
  }

  void reduce_folded(const Unit& outputs, int64_t first, int64_t n, char* acc) const {
    int64_t width = outputs.width, step = fold_ * width;
    const char* source = kept_.data(0) + first * width * parts_.in_size;
    parts_.identity(f_, step, acc);
    for (int64_t left = n * width; left > 0; left -= step, source += step * parts_.in_size)
      parts_.accumulate(f_, std::min(left, step), acc, source);
    for (int64_t half = step / 2; half >= width; half /= 2)
      parts_.merge(f_, half, acc, acc + half * parts_.acc_size);
  }

  void write(const Unit& outputs, const char* acc) const {
    StridedCursor at(kept_, outputs.first);
    if (outputs.width == 1) return parts_.finish(f_, 1, at.data(1), acc);
    alignas(64) char buffer[kMaxTile * kMaxElement];
    parts_.finish(f_, outputs.width, buffer, acc);
    at.move(1, outputs.width, buffer, /*scatter=*/true);
  }

  static constexpr int kMaxElement = 16;

  const ReduceParts& parts_;
  const void* f_;
  const StridedSpace &kept_, &reduced_;
  bool by_tiles_, by_rows_;
  bool dense_;  // the elements of a run, or of a tile's row, are contiguous
  int64_t tile_, tiles_per_row_;
  int64_t units_, block_, blocks_;
  int64_t fold_ = 1;  // rows that are accumulated side by side
};

}  // namespace

void run_reduce(const ReduceParts& parts, const void* functions, const Operand& in, const Operand& out,
                uint64_t mask) {
  const uint8_t sizes[] = {static_cast<uint8_t>(parts.in_size), static_cast<uint8_t>(parts.out_size)};
  ReduceSpaces spaces = make_spaces(in, out, mask, sizes);
  if (spaces.kept.count() == 0) return;
  Reduction(parts, functions, spaces).run();
}

}  // namespace detail
}  // namespace tw::device
