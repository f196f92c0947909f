// Rows are copied whole. The backward is cut by columns: each thread adds all rows in order, so sums have one
// order. Floor: the rows that are read (or the gradient) once, the result once.
#include <cmath>
#include <cstring>
#include <vector>

#include "device/cpu/cast.h"
#include "device/cpu/parallel.h"
#include "ops/indexing/embedding.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread

// The indices as int64 in row-major order, checked; -1 for rows of other parts of the table.
std::vector<int64_t> read_indices(const Operand& indices, int64_t rows, int64_t first_row = 0,
                                  int64_t whole_rows = -1) {
  int64_t whole = whole_rows < 0 ? rows : whole_rows;
  std::vector<int64_t> values(indices.count());
  Dims strides = contiguous_strides(*indices.sizes);
  copy_cast(Operand{values.data(), indices.sizes, &strides, DType::kInt64}, indices);
  for (int64_t& value : values) {
    TW_CHECK(value >= 0 && value < whole, kIndex, "embedding: index ", value,
             " is out of bounds for a table of ", whole, " rows");
    value -= first_row;
    if (value < 0 || value >= rows) value = -1;
  }
  return values;
}

// `x` as rows that lie densely; copies into `memory` where it does not.
const char* dense(const Operand& x, std::vector<char>& memory) {
  if (x.contiguous()) return x.as<char>();
  memory.resize(x.count() * size_of(x.dtype));
  Dims strides = contiguous_strides(*x.sizes);
  copy_cast(Operand{memory.data(), x.sizes, &strides, x.dtype}, x);
  return memory.data();
}

void lookup_kernel(KernelContext& k) {
  const auto& a = k.attrs<EmbeddingAttrs>();
  const Operand& weight = k.in(0);
  int64_t width = weight.size(1), bytes = width * size_of(weight.dtype);
  std::vector<int64_t> rows = read_indices(k.in(1), weight.size(0), a.first_row, a.whole_rows);
  std::vector<char> memory;
  bool whole_rows = weight.stride(1) == 1 || width <= 1;
  const char* table = whole_rows ? weight.as<char>() : dense(weight, memory);
  int64_t pitch = (whole_rows ? weight.stride(0) : width) * size_of(weight.dtype);
  char* out = k.out().as<char>();
  parallel_for(0, static_cast<int64_t>(rows.size()), kGrain / std::max<int64_t>(width, 1) + 1,
               [&](int64_t first, int64_t last) {
                 for (int64_t i = first; i < last; i++) {
                   if (rows[i] >= 0)
                     std::memcpy(out + i * bytes, table + rows[i] * pitch, bytes);
                   else
                     std::memset(out + i * bytes, 0, bytes);
                 }
               });
}

// acc[row][column] += factor * grad, in the order of the indices.
template <class T, class Acc>
void add_rows(const T* grad, const std::vector<int64_t>& rows, const std::vector<int64_t>& counts,
              int64_t padding, int64_t width, Acc* acc) {
  int64_t count = static_cast<int64_t>(rows.size());
  parallel_for(0, width, std::max<int64_t>(8, kGrain / std::max<int64_t>(count, 1)),
               [&](int64_t first, int64_t last) {
                 for (int64_t i = 0; i < count; i++) {
                   if (rows[i] == padding || rows[i] < 0) continue;
                   Acc* to = acc + rows[i] * width;
                   const T* from = grad + i * width;
                   if (counts.empty()) {
                     for (int64_t c = first; c < last; c++) to[c] += load<T>(from[c]);
                   } else {
                     Acc factor = Acc(1) / static_cast<Acc>(static_cast<double>(counts[rows[i]]));
                     for (int64_t c = first; c < last; c++) to[c] += load<T>(from[c]) * factor;
                   }
                 }
               });
}

void backward_kernel(KernelContext& k) {
  const auto& a = k.attrs<EmbeddingBackwardAttrs>();
  const Operand &grad = k.in(0), &out = k.out();
  int64_t width = out.size(1);
  std::vector<int64_t> rows = read_indices(k.in(1), a.num_weights, a.first_row, a.whole_rows), counts;
  if (a.scale_grad_by_freq) {
    counts.resize(a.num_weights, 0);
    for (int64_t row : rows)
      if (row >= 0) counts[row]++;
  }
  std::vector<char> memory;
  const char* source = dense(grad, memory);
  dispatch_float_complex(out.dtype, "embedding", [&]<class T>() {
    if constexpr (is_half_type<T>) {  // summed in float
      std::vector<float> sums(out.count(), 0.0f);
      add_rows(reinterpret_cast<const T*>(source), rows, counts, a.padding_idx, width, sums.data());
      for (size_t i = 0; i < sums.size(); i++) out.as<T>()[i] = T(sums[i]);
    } else {
      std::memset(out.data, 0, out.count() * sizeof(T));
      add_rows(reinterpret_cast<const T*>(source), rows, counts, a.padding_idx, width, out.as<T>());
    }
  });
}

template <class T>
double norm_of(const T* row, int64_t width, int64_t stride, double p) {
  double total = 0;
  for (int64_t c = 0; c < width; c++) {
    double value = std::abs(static_cast<double>(load<T>(row[c * stride])));
    if (std::isinf(p))
      total = std::max(total, value);
    else
      total += p == 2 ? value * value : p == 1 ? value : std::pow(value, p);
  }
  return std::isinf(p) ? total : p == 2 ? std::sqrt(total) : p == 1 ? total : std::pow(total, 1 / p);
}

void renorm_kernel(KernelContext& k) {
  const auto& a = k.attrs<RenormAttrs>();
  const Operand& out = k.out();
  if (out.data != k.in(0).data) copy_cast(out, k.in(0));
  std::vector<int64_t> rows = read_indices(k.in(1), out.size(0));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  int64_t width = out.size(1), stride = out.stride(1);
  dispatch_float(out.dtype, "embedding", [&]<class T>() {
    parallel_for(0, static_cast<int64_t>(rows.size()), kGrain / std::max<int64_t>(width, 1) + 1,
                 [&](int64_t first, int64_t last) {
                   for (int64_t i = first; i < last; i++) {
                     T* row = out.as<T>() + rows[i] * out.stride(0);
                     double norm = norm_of(row, width, stride, a.norm_type);
                     if (norm <= a.max_norm) continue;
                     auto factor = static_cast<compute_t<T>>(a.max_norm / (norm + 1e-7));
                     for (int64_t c = 0; c < width; c++)
                       row[c * stride] = store<T>(load<T>(row[c * stride]) * factor);
                   }
                 });
  });
}

}  // namespace

void kernels_embedding(KernelTable& table) {
  table.add("embedding_lookup", lookup_kernel);
  table.add("embedding_backward", backward_kernel);
  table.add("embedding_renorm", renorm_kernel);
}

}  // namespace tw::ops
