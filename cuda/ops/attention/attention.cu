// attention and its gradient: on tensor cores for half types and heads of 64 or 128 columns (by groups of
// warps on compute capability 9.0a, groups_forward.h and groups_backward.h, else by warps, forward.h and
// backward.h), all else by rows (rows.h). Nothing of size L x S is stored.
//
// Bytes: q, k, v and the result once, forward; those, the result's gradient and three gradients, backward;
// keys and values are read again for each tile of queries, from the second-level cache. Flops, of pairs that
// are seen: 2 (E + F) a pair forward, and 5 (E + F) backward, of which the two kernels do 7 (E + F). Floor:
// the flops at 989 TFLOP/s; for [8, 2048, 16, 128] in bfloat16 0.28 ms and 0.69 ms, against 0.06 and 0.11 ms
// for the bytes at 4.8 TB/s. Expected there, not measured: by groups 0.45 ms and 1.6 ms, 0.6 and 0.43 of the
// peak; by warps 0.7 ms and 2.8 ms, 0.4 and 0.25 of it, since mma.sync does not reach what wgmma does, and
// tiles pass from shared memory for 16 or 32 rows at a time. Of these two blocks of 128 threads fit a
// processor by registers (docs/cuda.md), three by shared memory; of groups one block of 384.
//
// Per element: 8 bytes and 8192 tensor operations (2048 keys, bfloat16).
#include <cstdlib>
#include <optional>

#include "cuda/common/dense.h"
#include "cuda/ops/attention/groups_backward.h"
#include "cuda/ops/attention/groups_forward.h"
#include "cuda/ops/attention/rows.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

// Heads whose rows are whole pieces of 16 bytes: the operand's own, or a copy.
template <class T>
class PieceHeads {
 public:
  PieceHeads(const Operand& x, const char* op) : heads_(heads_of<T>(x)) {
    if (fits(x)) return;
    copy_.emplace(static_cast<size_t>(x.count()) * sizeof(T));
    Dims strides = contiguous_strides(*x.sizes);
    Operand dense{copy_->as<void>(), x.sizes, &strides, x.dtype};
    copy_cast(dense, x, op);
    heads_ = heads_of<T>(dense);
  }
  const Heads<T>& heads() const { return heads_; }

  static bool fits(const Operand& x) {
    bool whole = x.stride(3) == 1 && is_aligned(x.data);
    for (int dim = 0; dim < 3; dim++) whole &= x.stride(dim) % kPiece == 0;
    return whole;
  }

 private:
  Heads<T> heads_;
  std::optional<DeviceScratch> copy_;
};

// Calls body<kColumns>() and returns true where heads of these sizes have kernels on tensor cores.
template <class T, class Body>
bool on_tensor_cores(const Problem<T>& p, Body&& body) {
  if constexpr (is_half_type<T>) {
    bool near = std::abs(p.mask.row) <= kMostMaskStep && std::abs(p.mask.column) <= kMostMaskStep;
    if (!near || p.e != p.f || (p.e != 64 && p.e != 128)) return false;
    if (p.e == 64)
      body.template operator()<64>();
    else
      body.template operator()<128>();
    return true;
  }
  return false;
}

// Blocks for the tiles of all heads of one side.
template <int kRows>
unsigned tile_blocks(int64_t batches, int64_t heads, int64_t positions) {
  return static_cast<unsigned>(batches * heads * tiles_of<kRows>(positions));
}

// What copies of tiles are told of heads whose rows are whole pieces.
template <class T>
TensorMap map_of(const char* op, const Problem<T>& p, const Heads<T>& heads, int64_t positions,
                 int64_t count) {
  return tensor_map(op, dtype_of<T>, heads.data, {p.e, positions, count, p.batches},
                    {1, heads.position, heads.head, heads.batch}, kGroupRows);
}

// Whether kernels by groups take the problem: there are heads to copy tiles of, none of them expanded.
// `grad`: null, or of the result.
template <class T>
bool fits_groups(const Problem<T>& p, const Heads<T>* grad = nullptr) {
  auto apart = [](int64_t size, int64_t step) { return size == 1 || (size > 1 && step > 0); };
  auto fits = [&](const Heads<T>& heads, int64_t positions, int64_t count) {
    return apart(positions, heads.position) && apart(count, heads.head) && apart(p.batches, heads.batch);
  };
  return kHas90a && compute_capability() / 10 == 9 && fits(p.q, p.queries, p.heads) &&
         fits(p.k, p.keys, p.groups) && fits(p.v, p.keys, p.groups) &&
         (!grad || fits(*grad, p.queries, p.heads));
}

template <class T, int kColumns>
void forward_on_tensor_cores(const char* op, const Problem<T>& p) {
  if (fits_groups(p)) {
    using Shape = GroupsForwardShape<kColumns>;
    ForwardMaps maps{map_of(op, p, p.q, p.queries, p.heads), map_of(op, p, p.k, p.keys, p.groups),
                     map_of(op, p, p.v, p.keys, p.groups)};
    launch(op, attention_forward_groups<T, kColumns>,
           {tile_blocks<Shape::kRows>(p.batches, p.heads, p.queries), Shape::kThreads, Shape::kSharedBytes},
           p, maps);
    return;
  }
  using Shape = ForwardShape<T, kColumns>;
  launch(op, attention_forward_tiles<T, kColumns>,
         {tile_blocks<Shape::kRows>(p.batches, p.heads, p.queries), Shape::kThreads, Shape::kSharedBytes}, p);
}

void attention_kernel(KernelContext& k) {
  dispatch_float(k.out().dtype, k.op, [&]<class T>() {
    auto p = problem_of<T>(k.attrs<ops::AttentionAttrs>(), k.in(0), k.in(1), k.in(2), k.in(3));
    p.result = heads_of<T>(k.out(0));
    p.log_sums = k.out(1).as<compute_t<T>>();
    bool done = PieceHeads<T>::fits(k.out(0)) && on_tensor_cores(p, [&]<int kColumns>() {
                  PieceHeads<T> q(k.in(0), k.op), key(k.in(1), k.op), value(k.in(2), k.op);
                  p.q = q.heads(), p.k = key.heads(), p.v = value.heads();
                  forward_on_tensor_cores<T, kColumns>(k.op, p);
                });
    if (!done) attention_rows::forward(k.op, p);
  });
}

template <class T, int kColumns>
void backward_on_tensor_cores(KernelContext& k, Problem<T> p) {
  using Dq = DqShape<T, kColumns>;
  using Dkv = DkvShape<T, kColumns>;
  PieceHeads<T> grad(k.in(0), k.op), q(k.in(1), k.op), key(k.in(2), k.op), value(k.in(3), k.op),
      result(k.in(5), k.op);
  p.grad = grad.heads(), p.q = q.heads(), p.k = key.heads(), p.v = value.heads(), p.result = result.heads();
  Gradients<T> g{p, nullptr};
  int64_t rows = p.batches * p.heads * g.rows();
  DeviceScratch numbers(static_cast<size_t>(rows) * sizeof(RowNumbers));
  g.numbers = numbers.as<RowNumbers>();
  constexpr int kThreads = block_threads(256);
  int64_t in_block = kThreads / (kColumns / kPiece);
  launch(k.op, attention_row_products<T, kColumns>,
         {static_cast<unsigned>((rows + in_block - 1) / in_block), kThreads}, g);
  if (fits_groups(p, &p.grad)) {
    using Shape = GroupsBackwardShape<kColumns>;
    BackwardMaps maps{map_of(k.op, p, p.q, p.queries, p.heads), map_of(k.op, p, p.k, p.keys, p.groups),
                      map_of(k.op, p, p.v, p.keys, p.groups), map_of(k.op, p, p.grad, p.queries, p.heads)};
    launch(k.op, attention_dq_groups<T, kColumns>,
           {tile_blocks<Shape::kRows>(p.batches, p.heads, p.queries), Shape::kThreads, Shape::kSharedBytes},
           g, maps);
    launch(k.op, attention_dkv_groups<T, kColumns>,
           {tile_blocks<Shape::kRows>(p.batches, p.groups, p.keys), Shape::kThreads, Shape::kSharedBytes}, g,
           maps);
    return;
  }
  launch(k.op, attention_dq_tiles<T, kColumns>,
         {tile_blocks<Dq::kRows>(p.batches, p.heads, p.queries), Dq::kThreads, Dq::kTilesBytes}, g);
  constexpr unsigned kDkvBytes = Dkv::kTilesBytes + Dkv::kNumbersBytes;
  launch(k.op, attention_dkv_tiles<T, kColumns>,
         {tile_blocks<Dkv::kRows>(p.batches, p.groups, p.keys), Dkv::kThreads, kDkvBytes}, g);
}

void attention_backward_kernel(KernelContext& k) {
  dispatch_float(k.in(1).dtype, k.op, [&]<class T>() {
    auto p = problem_of<T>(k.attrs<ops::AttentionAttrs>(), k.in(1), k.in(2), k.in(3), k.in(4));
    p.grad = heads_of<T>(k.in(0)), p.result = heads_of<T>(k.in(5));
    Dense<compute_t<T>> log_sums(k.in(6), k.op);
    p.log_sums = log_sums.data();
    p.dq = heads_of<T>(k.out(0)), p.dk = heads_of<T>(k.out(1)), p.dv = heads_of<T>(k.out(2));
    bool fits = true;
    for (int i = 0; i < 3; i++) fits &= PieceHeads<T>::fits(k.out(i));
    bool done =
        fits && on_tensor_cores(p, [&]<int kColumns>() { backward_on_tensor_cores<T, kColumns>(k, p); });
    if (!done) attention_rows::backward(k.op, p);
  });
}

}  // namespace

void kernels_attention(device::KernelTable& table) {
  table.add("attention", attention_kernel);
  table.add("attention_backward", attention_backward_kernel);
}

}  // namespace tw::cuda
