// Tensors of random numbers: element i is drawn from the words of the draw's stream that it takes on the CPU.
// Uniform and whole numbers equal the CPU's, the others to rounding. Bytes: the result once; some 12
// instructions a word for the bits, up to 40 more an element. Floor: bytes over the bandwidth.
//
// multinomial: a block a row of n weights, which are read twice; their sums, or with their clocks the
// indices, go through memory (8 or 16 bytes each; sorting these takes log² n / 2 passes). random_permutation
// sorts random keys of 16 bytes in as many passes; it is another order than the CPU's, whose swaps cannot be
// made side by side.
//
// Per element: 4 bytes and 25 operations (uniform, float32).
#include "ops/random/distribution.h"

#include <bit>
#include <limits>
#include <optional>

#include "cuda/common/bitonic.h"
#include "cuda/common/copy.h"
#include "cuda/common/element.h"
#include "cuda/common/functions.h"
#include "cuda/common/launch.h"
#include "cuda/common/mistakes.h"
#include "cuda/common/part_index.h"
#include "cuda/common/philox.h"
#include "cuda/common/warp.h"
#include "cuda/device/scratch.h"
#include "ops/random/distribution_formula.h"

namespace tw::cuda {

using device::KernelContext;
using device::Operand;

namespace {

constexpr int kThreads = block_threads(256);

unsigned blocks_for(int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

// What four words make: numbers in [0, 1), normals, or 64 random bits.
template <class C>
struct Uniforms {
  using Value = C;
  static constexpr int kCount = 4 / ops::kWordsEach<C>;
  TW_DEVICE static void make(const Words& words, C (&values)[kCount]) {
    TW_UNROLL
    for (int j = 0; j < kCount; j++) values[j] = ops::uniform_at<C>(words.at, j);
  }
};
template <class C>
struct Normals {
  using Value = C;
  static constexpr int kCount = Uniforms<C>::kCount;
  TW_DEVICE static void make(const Words& words, C (&values)[kCount]) {
    Uniforms<C>::make(words, values);
    TW_UNROLL
    for (int j = 0; j < kCount; j += 2)
      ops::normal_pair<Functions>(values[j], values[j + 1], values[j], values[j + 1]);
  }
};
struct WideWords {
  using Value = uint64_t;
  static constexpr int kCount = 2;
  TW_DEVICE static void make(const Words& words, uint64_t (&values)[kCount]) {
    values[0] = ops::wide_word(words.at[0], words.at[1]);
    values[1] = ops::wide_word(words.at[2], words.at[3]);
  }
};

template <class T, class Source, class F>
__global__ void __launch_bounds__(kThreads) draw_kernel(stored_t<T>* out, int64_t count, PhiloxKey key, F f) {
  int64_t block = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x, first = block * Source::kCount;
  if (first >= count) return;
  typename Source::Value values[Source::kCount];
  Source::make(random_words(key, static_cast<uint64_t>(block)), values);
  TW_UNROLL
  for (int j = 0; j < Source::kCount; j++)
    if (first + j < count) out[first + j] = convert<T>(f(values[j]));
}

// Of a part of a larger tensor, an element by a thread.
template <class T, class Source, class F>
__global__ void __launch_bounds__(kThreads)
    draw_part_kernel(stored_t<T>* out, int64_t count, PartIndex part, PhiloxKey key, F f) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  auto place = static_cast<uint64_t>(part.in_whole(i));
  typename Source::Value values[Source::kCount];
  Source::make(random_words(key, place / Source::kCount), values);
  TW_UNROLL
  for (int j = 0; j < Source::kCount; j++)
    if (place % Source::kCount == static_cast<uint64_t>(j)) out[i] = convert<T>(f(values[j]));
}

// Draws into row-major memory, and copies from there where the result lies otherwise. Complex numbers are
// drawn as two elements.
template <class T, class Source, class Attrs, class F>
void draw(KernelContext& k, const Attrs& a, const F& f) {
  const Operand& out = k.out();
  if (out.count() == 0) return;
  std::optional<DeviceScratch> memory;
  if (!out.contiguous()) memory.emplace(static_cast<size_t>(out.count() * size_of(out.dtype)));
  void* to = memory ? memory->as<void>() : out.data;
  int64_t count = is_complex(out.dtype) ? 2 * out.count() : out.count();
  auto* drawn = static_cast<stored_t<T>*>(to);
  if (a.part.empty())
    launch(k.op, draw_kernel<T, Source, F>,
           {blocks_for((count + Source::kCount - 1) / Source::kCount), kThreads}, drawn, count, a.key, f);
  else
    launch(k.op, draw_part_kernel<T, Source, F>, {blocks_for(count), kThreads}, drawn, count,
           part_index(a.part, *out.sizes, is_complex(out.dtype), k.op), a.key, f);
  if (!memory) return;
  Dims strides = contiguous_strides(*out.sizes);
  copy_cast(out, {to, out.sizes, &strides, out.dtype}, k.op);
}

DType part_dtype(const Operand& x) { return is_complex(x.dtype) ? real_of(x.dtype) : x.dtype; }

template <class T>
struct RoundTo {
  template <class C>
  TW_DEVICE C operator()(C x) const {
    return static_cast<C>(load<T>(store<T>(x)));
  }
};

// body<T, C>(a) for the result's dtype, of the parts of complex numbers.
template <class Body>
void with_dtype(KernelContext& k, const Body& body) {
  const auto& a = k.attrs<ops::DistributionAttrs>();
  dispatch_float(part_dtype(k.out()), k.op, [&]<class T>() { body.template operator()<T, compute_t<T>>(a); });
}

void uniform_kernel(KernelContext& k) {
  with_dtype(k, [&]<class T, class C>(const ops::DistributionAttrs& a) {
    using Formula = ops::UniformFormula<Functions, C, RoundTo<T>>;
    draw<T, Uniforms<C>>(k, a, Formula{C(a.a), C(a.b - a.a), C(a.b)});
  });
}
void normal_kernel(KernelContext& k) {
  with_dtype(k, [&]<class T, class C>(const ops::DistributionAttrs& a) {
    draw<T, Normals<C>>(k, a, ops::NormalFormula<C>::of(a.a, a.b, is_complex(k.out().dtype)));
  });
}
void log_normal_kernel(KernelContext& k) {
  with_dtype(k, [&]<class T, class C>(const ops::DistributionAttrs& a) {
    draw<T, Normals<C>>(k, a, ops::LogNormalFormula<Functions, C>{C(a.a), C(a.b)});
  });
}
void exponential_kernel(KernelContext& k) {
  with_dtype(k, [&]<class T, class C>(const ops::DistributionAttrs& a) {
    draw<T, Uniforms<C>>(k, a, ops::ExponentialFormula<Functions, C>::of(a.a));
  });
}
void cauchy_kernel(KernelContext& k) {
  with_dtype(k, [&]<class T, class C>(const ops::DistributionAttrs& a) {
    draw<T, Uniforms<C>>(k, a, ops::CauchyFormula<Functions, C>{C(a.a), C(a.b)});
  });
}

void geometric_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::DistributionAttrs>();
  auto formula = ops::GeometricFormula<Functions>::of(a.a);
  dispatch_real(k.out().dtype, k.op, [&]<class T>() { draw<T, Uniforms<double>>(k, a, formula); });
}
void integers_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::IntegerAttrs>();
  auto formula = ops::IntegersFormula::of(a.low, a.high);
  dispatch_real_bool(k.out().dtype, k.op, [&]<class T>() { draw<T, WideWords>(k, a, formula); });
}

// Something with a place, in the order of a random number.
template <class Key>
struct Placed {
  Key key;
  int64_t place;
  TW_DEVICE bool operator<(const Placed& other) const {
    return key < other.key || (key == other.key && place < other.place);
  }
};

using Card = Placed<uint64_t>;

__global__ void __launch_bounds__(kThreads)
    shuffle_kernel(Card* cards, int64_t n, int64_t room, PhiloxKey key) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= room) return;
  uint64_t bits[WideWords::kCount];
  WideWords::make(random_words(key, static_cast<uint64_t>(i / 2)), bits);
  cards[i] = {i < n ? (i % 2 ? bits[1] : bits[0]) : ~uint64_t{0}, i};
}
__global__ void __launch_bounds__(kThreads) places_kernel(const Card* cards, int64_t n, int64_t* out) {
  int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) out[i] = cards[i].place;
}

void permutation_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::PermutationAttrs>();
  if (a.n == 0) return;
  auto room = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(a.n)));
  DeviceScratch memory(static_cast<size_t>(room) * sizeof(Card));
  auto* cards = memory.as<Card>();
  launch(k.op, shuffle_kernel, {blocks_for(room), kThreads}, cards, a.n, room, a.key);
  bitonic_sort(k.op, cards, room);
  launch(k.op, places_kernel, {blocks_for(a.n), kThreads}, static_cast<const Card*>(cards), a.n,
         static_cast<int64_t*>(k.out().data));
}

using Clock = Placed<double>;

// Rows of weights and what is drawn of each.
template <class T>
struct Lottery {
  const stored_t<T>* weights;
  int64_t row_step, step, count, samples;
  int64_t first_row;  // of the part, in the whole
  PhiloxKey key;
  uint64_t row_blocks;  // of the stream, which each row has a stretch of
  MistakeNote wrong;

  TW_DEVICE double weight(int64_t row, int64_t i) const {
    return static_cast<double>(load<T>(weights[row * row_step + i * step]));
  }
  // Number i of a row's stretch, in [0, 1).
  TW_DEVICE double uniform(int64_t row, int64_t i) const {
    uint64_t stretch = static_cast<uint64_t>(first_row + row) * row_blocks;
    Words words = random_words(key, stretch + static_cast<uint64_t>(i / 2));
    // Chosen, not indexed: an index would put them in memory.
    uint32_t two[] = {i % 2 ? words.at[2] : words.at[0], i % 2 ? words.at[3] : words.at[1]};
    return ops::uniform_at<double>(two, 0);
  }
};

// What a block learns of its row of weights: a thread has a stretch of neighbours.
struct WeightSums {
  double before;  // of the stretches before the thread's
  double total;
  int64_t last;      // of positive weight, in the row
  int64_t positive;  // weights of the row
  int64_t from, to;  // the thread's stretch
};

template <class T>
TW_DEVICE WeightSums sum_weights(const Lottery<T>& lottery, int64_t row) {
  TW_SHARED(double, sums, kThreads);
  int thread = static_cast<int>(threadIdx.x);
  int64_t stretch = (lottery.count + kThreads - 1) / kThreads;
  WeightSums s{0, 0, -1, 0, thread * stretch, (thread + 1) * stretch};
  s.from = s.from < lottery.count ? s.from : lottery.count;
  s.to = s.to < lottery.count ? s.to : lottery.count;
  double own = 0;
  for (int64_t i = s.from; i < s.to; i++) {
    double w = lottery.weight(row, i);
    if (!(w >= 0) || w == std::numeric_limits<double>::infinity()) lottery.wrong();
    own += w;
    if (w > 0) s.last = i;
    s.positive += w > 0;
  }
  sums[thread] = own;
  __syncthreads();
  for (int t = 0; t < kThreads; t++) {
    if (t < thread) s.before += sums[t];
    s.total += sums[t];
  }
  auto plus = [](int64_t a, int64_t b) { return a + b; };
  auto later = [](int64_t a, int64_t b) { return a > b ? a : b; };
  s.positive = block_reduce<kThreads>(s.positive, int64_t{0}, plus);
  s.last = block_reduce<kThreads>(s.last, int64_t{-1}, later);
  return s;
}

// A block a row; `room` has a number for each weight.
template <class T>
__global__ void __launch_bounds__(kThreads) replaced_kernel(Lottery<T> lottery, double* room, int64_t* out) {
  int64_t row = blockIdx.x;
  double* sums = room + row * lottery.count;
  WeightSums s = sum_weights(lottery, row);
  if (threadIdx.x == 0 && s.positive == 0) lottery.wrong();
  double sum = s.before;
  for (int64_t i = s.from; i < s.to; i++) sums[i] = sum += lottery.weight(row, i);
  __syncthreads();
  for (int64_t i = threadIdx.x; i < lottery.samples; i += kThreads) {
    double wanted = lottery.uniform(row, i) * s.total;
    int64_t low = 0, high = lottery.count;  // the first sum above what is wanted
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (sums[middle] > wanted)
        high = middle;
      else
        low = middle + 1;
    }
    // Rounding must not lead beyond the last that can be drawn.
    out[row * lottery.samples + i] = low < s.last ? low : s.last;
  }
}

// A block a row, the first of which is number `first`; `clocks` has a power of two of them for each.
template <class T>
__global__ void __launch_bounds__(kThreads)
    unreplaced_kernel(Lottery<T> lottery, int64_t first, Clock* clocks, int64_t room, int64_t* out) {
  int64_t row = first + blockIdx.x;
  clocks += blockIdx.x * room;
  WeightSums s = sum_weights(lottery, row);
  if (threadIdx.x == 0 && s.positive < lottery.samples) lottery.wrong();
  for (int64_t i = threadIdx.x; i < room; i += kThreads) {
    double weight = i < lottery.count ? lottery.weight(row, i) : 0;
    double time = std::numeric_limits<double>::infinity();
    if (weight > 0) time = ops::ring_time(lottery.uniform(row, i), weight);
    clocks[i] = {time, i};
  }
  __syncthreads();
  bitonic_sort_block<kThreads>(clocks, room);
  for (int64_t i = threadIdx.x; i < lottery.samples; i += kThreads)
    out[row * lottery.samples + i] = clocks[i].place;
}

constexpr int64_t kMostClocks = int64_t{1} << 24;  // at a time: 256 MiB

template <class T>
void draw_rows(KernelContext& k, const Lottery<T>& lottery, int64_t rows, bool replacement) {
  auto* out = static_cast<int64_t*>(k.out().data);
  if (replacement) {
    DeviceScratch sums(static_cast<size_t>(rows * lottery.count) * sizeof(double));
    return launch(k.op, replaced_kernel<T>, {static_cast<unsigned>(rows), kThreads}, lottery,
                  sums.as<double>(), out);
  }
  auto room = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lottery.count)));
  int64_t at_once = std::clamp<int64_t>(kMostClocks / room, 1, rows);
  DeviceScratch clocks(static_cast<size_t>(at_once * room) * sizeof(Clock));
  for (int64_t row = 0; row < rows; row += at_once)
    launch(k.op, unreplaced_kernel<T>, {static_cast<unsigned>(std::min(at_once, rows - row)), kThreads},
           lottery, row, clocks.as<Clock>(), room, out);
}

void bad_weights(const char*, int64_t, int64_t) { TW_FAIL(kRuntime, ops::kBadWeights); }

void multinomial_kernel(KernelContext& k) {
  const auto& a = k.attrs<ops::MultinomialAttrs>();
  const Operand& in = k.in(0);
  int64_t rows = in.rank() == 2 ? in.size(0) : 1;
  if (rows == 0) return;
  MistakeNote wrong = mistake_note(k.op, bad_weights);
  dispatch_float(in.dtype, k.op, [&]<class T>() {
    Lottery<T> lottery{.weights = static_cast<const stored_t<T>*>(in.data),
                       .row_step = in.rank() == 2 ? in.stride(0) : 0,
                       .step = in.stride(-1),
                       .count = in.size(-1),
                       .samples = a.num_samples,
                       .first_row = a.part.empty() ? 0 : ops::first_index(a.part, 0),
                       .key = a.key,
                       .row_blocks = ops::multinomial_row_blocks(in.size(-1), a.num_samples),
                       .wrong = wrong};
    draw_rows(k, lottery, rows, a.replacement);
  });
}

}  // namespace

void kernels_distribution(device::KernelTable& table) {
  table.add("uniform", uniform_kernel);
  table.add("normal", normal_kernel);
  table.add("log_normal", log_normal_kernel);
  table.add("exponential", exponential_kernel);
  table.add("cauchy", cauchy_kernel);
  table.add("geometric", geometric_kernel);
  table.add("random_integers", integers_kernel);
  table.add("random_permutation", permutation_kernel);
  table.add("multinomial", multinomial_kernel);
}

}  // namespace tw::cuda
