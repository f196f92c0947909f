// Writing where places may repeat, in one order: the places are sorted (sorted_rows.h), so that equal ones
// are neighbours, and each run of them is folded in the order in which they stood. Results are the same in
// every run, and of writes the last stays, as on the CPU.
//
// A thread has kFoldPiece sorted places of a line, and a column. Runs that begin in its piece it folds into
// their destination; the part of a run that began earlier it leaves aside, and a second launch adds these
// parts to where the run began. Bytes: sources once, destinations read and written once, keys and places.
// Floor: these over the bandwidth; sources are read in the order of their places, at random where columns are
// few.
//
// Sums are kept in C, which fits the dtypes of sources and destinations: a kernel for all whole numbers, and
// one for the halves and float32. A map says where things lie: char* to(line, key, place, column), const
// char* from(line, place, column).
#pragma once

#include "cuda/common/any_dtype.h"
#include "cuda/common/launch.h"
#include "cuda/common/sorted_rows.h"
#include "cuda/common/walk.h"
#include "ops/indexing/gather_formula.h"

namespace tw::cuda {

inline constexpr int kFoldThreads = block_threads(256);
inline constexpr int kFoldPiece = 16;

enum class Fold { kSum, kProduct, kLargest, kSmallest };

// Sorted places: of each line, or one list for all.
template <class K>
struct PlaceLists {
  const K* keys;
  const uint32_t* places;
  int64_t lines, count, columns;
  int64_t step;  // between lines: count, or 0
  K limit;       // keys from here on name nothing

  int64_t pieces() const { return (count + kFoldPiece - 1) / kFoldPiece; }
};

template <class C>
TW_DEVICE C folded(Fold fold, C a, C b) {
  if (fold == Fold::kSum) return static_cast<C>(a + b);
  if (fold == Fold::kProduct) return static_cast<C>(a * b);
  if constexpr (requires { a < b; }) {
    return fold == Fold::kLargest ? ops::larger_of(a, b) : ops::smaller_of(a, b);
  }
  return a;
}

// Which column, piece (or place) and line a thread works on, if any.
struct FoldTasks {
  int64_t count;
  Divisor columns, pieces;

  FoldTasks(int64_t lines, int64_t pieces, int64_t columns, const char* op)
      : count(lines * pieces * columns) {
    TW_CHECK(count < kMostSteps, kNotImplemented, op, ": writing ", count,
             " elements at indices is not supported on CUDA, 2^31 - 1 are the most");
    if (count == 0) return;
    this->columns = Divisor(static_cast<uint32_t>(columns));
    this->pieces = Divisor(static_cast<uint32_t>(pieces));
  }
  Grid grid() const {
    return {static_cast<unsigned>((count + kFoldThreads - 1) / kFoldThreads), kFoldThreads};
  }
};

struct FoldTask {
  int64_t number, line, piece, column;
  TW_DEVICE explicit FoldTask(const FoldTasks& tasks)
      : number(static_cast<int64_t>(blockIdx.x) * kFoldThreads + threadIdx.x) {
    auto task = static_cast<uint32_t>(number);
    uint32_t row = tasks.columns.quotient(task);
    line = tasks.pieces.quotient(row);
    piece = row - line * tasks.pieces.divisor;
    column = task - row * tasks.columns.divisor;
  }
};

// What is folded: `fresh`: of the sources alone, not of what stands there before.
struct Folding {
  Fold fold;
  bool fresh;
  DType out, in;
};

template <class C, class K, class Map>
__global__ void __launch_bounds__(kFoldThreads)
    fold_pieces_kernel(PlaceLists<K> lists, Map map, Folding folding, C* parts, FoldTasks tasks) {
  FoldTask at(tasks);
  if (at.number >= tasks.count) return;
  const K* keys = lists.keys + at.line * lists.step;
  const uint32_t* places = lists.places + at.line * lists.step;
  int64_t s = at.piece * kFoldPiece, end = s + kFoldPiece < lists.count ? s + kFoldPiece : lists.count;
  bool began_earlier = s > 0 && keys[s - 1] == keys[s];
  auto value = [&](int64_t i) { return load_as<C>(map.from(at.line, places[i], at.column), folding.in, 0); };
  while (s < end) {
    K key = keys[s];
    if (key >= lists.limit) return;
    uint32_t place = places[s];
    C total = value(s);
    for (s++; s < end && keys[s] == key; s++) total = folded(folding.fold, total, value(s));
    if (began_earlier) {
      parts[at.number] = total;
      began_earlier = false;
      continue;
    }
    char* to = map.to(at.line, key, place, at.column);
    if (!folding.fresh) total = folded(folding.fold, load_as<C>(to, folding.out, 0), total);
    store_as(to, folding.out, 0, total);
  }
}

// Of each run that goes beyond the piece it began in: the parts of the pieces that follow.
template <class C, class K, class Map>
__global__ void __launch_bounds__(kFoldThreads)
    fold_parts_kernel(PlaceLists<K> lists, Map map, Folding folding, const C* parts, FoldTasks tasks) {
  FoldTask at(tasks);
  if (at.number >= tasks.count) return;
  const K* keys = lists.keys + at.line * lists.step;
  int64_t first = at.piece * kFoldPiece, next = first + kFoldPiece;
  if (next >= lists.count || keys[next] != keys[next - 1]) return;
  K key = keys[next];
  if (key >= lists.limit || (first > 0 && keys[first - 1] == key)) return;  // it began before
  int64_t part = at.number + lists.columns;
  C total = parts[part];
  uint32_t place = lists.places[at.line * lists.step + next - 1];
  for (next += kFoldPiece; next < lists.count && keys[next] == key; next += kFoldPiece)
    total = folded(folding.fold, total, parts[part += lists.columns]);
  char* to = map.to(at.line, key, place, at.column);
  store_as(to, folding.out, 0, folded(folding.fold, load_as<C>(to, folding.out, 0), total));
}

// The last of each run writes; without keys no place repeats, and without places each stands at its own.
template <class Unit, class K, class Map>
__global__ void __launch_bounds__(kFoldThreads)
    write_last_kernel(PlaceLists<K> lists, Map map, FoldTasks tasks) {
  FoldTask at(tasks);
  if (at.number >= tasks.count) return;
  int64_t line = at.line, s = at.piece, column = at.column;
  K key = 0;
  auto place = static_cast<uint32_t>(s);
  if (lists.keys) {
    const K* keys = lists.keys + line * lists.step;
    key = keys[s];
    if (key >= lists.limit || (s + 1 < lists.count && keys[s + 1] == key)) return;
    place = lists.places[line * lists.step + s];
  }
  *reinterpret_cast<Unit*>(map.to(line, key, place, column)) =
      *reinterpret_cast<const Unit*>(map.from(line, place, column));
}

template <class C, class K, class Map>
void launch_fold(const char* op, const PlaceLists<K>& lists, const Map& map, const Folding& folding) {
  FoldTasks tasks(lists.lines, lists.pieces(), lists.columns, op);
  if (tasks.count == 0) return;
  DeviceScratch parts(static_cast<size_t>(tasks.count) * sizeof(C));
  auto* memory = parts.as<C>();
  launch(op, fold_pieces_kernel<C, K, Map>, tasks.grid(), lists, map, folding, memory, tasks);
  if (lists.count > kFoldPiece)
    launch(op, fold_parts_kernel<C, K, Map>, tasks.grid(), lists, map, folding, memory, tasks);
}

// destination = fold(destination, sources).
template <class K, class Map>
void fold_places(const char* op, const PlaceLists<K>& lists, const Map& map, const Folding& folding) {
  switch (folding.out) {
    case DType::kFloat64:
      return launch_fold<double>(op, lists, map, folding);
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return launch_fold<float>(op, lists, map, folding);
    case DType::kComplex64:
      return launch_fold<Complex<float>>(op, lists, map, folding);
    case DType::kComplex128:
      return launch_fold<Complex<double>>(op, lists, map, folding);
    default:
      return launch_fold<int64_t>(op, lists, map, folding);
  }
}

template <class Unit, class K, class Map>
void write_last(const char* op, const PlaceLists<K>& lists, const Map& map) {
  FoldTasks tasks(lists.lines, lists.count, lists.columns, op);
  launch(op, write_last_kernel<Unit, K, Map>, tasks.grid(), lists, map, tasks);
}

template <class K>
PlaceLists<K> place_lists(const SortedRows<K>& sorted, K limit) {
  return {sorted.keys(), sorted.places(), sorted.rows(), sorted.length(), 1, sorted.length(), limit};
}

}  // namespace tw::cuda
