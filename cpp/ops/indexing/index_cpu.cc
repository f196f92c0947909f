// An indexed place is the sum of three offsets: of the dims taken whole before the indices (outer), of the
// indices together (at), of the dims after them (inner, ending in runs that lie densely in memory). Floor:
// the elements moved, read and written once.
//
// Writing is cut by columns, the positions within the dims taken whole, never by places: two threads cannot
// meet at a repeated index, and sums have the order of the places whatever the number of threads.
#include <cstring>
#include <deque>
#include <vector>

#include "device/cpu/cast.h"
#include "device/cpu/parallel.h"
#include "ops/indexing/index.h"

namespace tw::ops {

using namespace device;

namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread

// One integer operand for each dim, masks taken apart.
class IntegerIndices {
 public:
  IntegerIndices(const Operand& x, std::span<const Operand> indices, const char* op) {
    for (const Operand& index : indices) {
      if (index.present() && (index.dtype == DType::kBool || index.dtype == DType::kUInt8))
        add_mask(index);
      else
        items.push_back(index);
    }
    std::vector<const Dims*> shapes;
    for (const Operand& item : items) shapes.push_back(item.present() ? item.sizes : nullptr);
    layout = index_layout(*x.sizes, shapes, op);
  }

  std::vector<Operand> items;
  IndexLayout layout;

 private:
  void add_mask(const Operand& mask) {
    int64_t rank = mask.rank(), count = mask.count();
    std::vector<uint8_t> dense(count);
    Dims strides = contiguous_strides(*mask.sizes);
    copy_cast(Operand{dense.data(), mask.sizes, &strides, DType::kBool}, mask);
    std::vector<std::vector<int64_t>*> columns;
    for (int64_t d = 0; d < rank; d++) columns.push_back(&memory_.emplace_back());
    for (int64_t i = 0; i < count; i++) {
      if (!dense[i]) continue;
      int64_t rest = i;
      for (int64_t d = 0; d < rank; d++) {
        columns[d]->push_back(rest / strides[d]);
        rest %= strides[d];
      }
    }
    for (int64_t d = 0; d < rank; d++) {
      shapes_.push_back({static_cast<int64_t>(columns[d]->size())});
      const Dims& shape = shapes_.back();
      shapes_.push_back({1});
      items.push_back({columns[d]->data(), &shape, &shapes_.back(), DType::kInt64});
    }
  }

  std::deque<std::vector<int64_t>> memory_;
  std::deque<Dims> shapes_;
};

// Offsets of all positions within the given dims of x, row-major.
std::vector<int64_t> offsets_of(const Operand& x, std::span<const int64_t> dims) {
  std::vector<int64_t> offsets = {0};
  for (int64_t d : dims) {
    std::vector<int64_t> longer;
    longer.reserve(offsets.size() * x.size(d));
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < x.size(d); i++) longer.push_back(offset + i * x.stride(d));
    offsets = std::move(longer);
  }
  return offsets;
}

void add_positions(const Operand& index, const Dims& shape, int64_t dim, int64_t size, int64_t stride,
                   std::vector<int64_t>& at, const char* op) {
  const int64_t* values = index.as<int64_t>();
  std::vector<int64_t> dense;
  if (index.dtype != DType::kInt64 || *index.sizes != shape || !index.contiguous()) {
    dense.resize(at.size());
    Dims strides = contiguous_strides(shape);
    copy_cast(Operand{dense.data(), &shape, &strides, DType::kInt64}, index);
    values = dense.data();
  }
  parallel_for(0, static_cast<int64_t>(at.size()), kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
      int64_t value = values[i];
      TW_CHECK(value >= -size && value < size, kIndex, op, ": index ", value, " is out of bounds for dim ",
               dim, " of size ", size);
      at[i] += (value < 0 ? value + size : value) * stride;
    }
  });
}

struct Places {
  std::vector<int64_t> outer, at, inner;
  int64_t run = 1;

  Places(const Operand& x, const IntegerIndices& indices, const char* op) {
    const IndexLayout& layout = indices.layout;
    outer = offsets_of(x, {layout.before.data(), layout.before.size()});
    at.assign(numel(layout.broadcast), 0);
    for (size_t d = 0; d < indices.items.size(); d++)
      if (indices.items[d].present())
        add_positions(indices.items[d], layout.broadcast, static_cast<int64_t>(d), x.size(d), x.stride(d), at,
                      op);
    size_t kept = layout.after.size();
    for (; kept > 0; kept--) {
      int64_t d = layout.after[kept - 1];
      if (x.size(d) != 1 && x.stride(d) != run) break;
      run *= x.size(d);
    }
    inner = offsets_of(x, {layout.after.data(), kept});
  }
  int64_t count() const { return static_cast<int64_t>(outer.size() * at.size() * inner.size()) * run; }
};

template <class T>
void gather(const T* x, const Places& p, T* out) {
  int64_t places = static_cast<int64_t>(p.at.size()), inner = static_cast<int64_t>(p.inner.size());
  int64_t rows = static_cast<int64_t>(p.outer.size()) * places, width = inner * p.run;
  if (rows == 0 || width == 0) return;
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / width), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row++) {
      const T* from = x + p.outer[row / places] + p.at[row % places];
      T* to = out + row * width;
      if (p.run == 1) {
        for (int64_t i = 0; i < inner; i++) to[i] = from[p.inner[i]];
      } else {
        for (int64_t i = 0; i < inner; i++) std::memcpy(to + i * p.run, from + p.inner[i], p.run * sizeof(T));
      }
    }
  });
}

// body(to, from, n) for every place, in order, within each column; `from` is null where one value goes
// everywhere.
template <class T, class Body>
void put(T* x, const Places& p, const T* values, bool broadcast, Body body) {
  int64_t places = static_cast<int64_t>(p.at.size()), inner = static_cast<int64_t>(p.inner.size());
  int64_t columns = static_cast<int64_t>(p.outer.size()) * inner * p.run;
  if (places == 0 || columns == 0) return;
  parallel_for(0, columns, std::max<int64_t>(1, kGrain / places), [&](int64_t first, int64_t last) {
    while (first < last) {
      int64_t segment = first / p.run, from = first % p.run, n = std::min(p.run - from, last - first);
      int64_t o = segment / inner, i = segment % inner;
      T* to = x + p.outer[o] + p.inner[i] + from;
      const T* source = broadcast ? values : values + (o * places * inner + i) * p.run + from;
      int64_t step = broadcast ? 0 : inner * p.run;
      for (int64_t b = 0; b < places; b++) body(to + p.at[b], source + b * step, n);
      first += n;
    }
  });
}

void put_values(const Operand& x, const Places& p, const void* values, bool broadcast, bool accumulate,
                const char* op) {
  if (!accumulate) {
    return dispatch_bytes(x.dtype, [&]<class T>() {
      put(x.as<T>(), p, static_cast<const T*>(values), broadcast,
          [broadcast](T* to, const T* from, int64_t n) {
            if (broadcast)
              std::fill_n(to, n, *from);
            else
              std::copy_n(from, n, to);
          });
    });
  }
  dispatch_all(x.dtype, op, [&]<class T>() {
    using S = stored_t<T>;
    put(x.as<S>(), p, static_cast<const S*>(values), broadcast, [broadcast](S* to, const S* from, int64_t n) {
      int64_t step = broadcast ? 0 : 1;
      for (int64_t i = 0; i < n; i++) to[i] = store<T>(load<T>(to[i]) + load<T>(from[i * step]));
    });
  });
}

void index_gather_kernel(KernelContext& k) {
  const Operand& x = k.list(0)[0];
  IntegerIndices indices(x, k.list(1), "index");
  Places places(x, indices, "index");
  dispatch_bytes(x.dtype, [&]<class T>() { gather(x.as<const T>(), places, k.out().as<T>()); });
}

// Sums of half types are kept in float until the end.
void index_gather_backward_kernel(KernelContext& k) {
  const Operand& grad = k.list(0)[0];
  const Operand& out = k.out();
  bool wide = is_half(out.dtype);
  Operand sum = out, source = grad;
  std::vector<float> sums;
  Dims strides = contiguous_strides(*grad.sizes);
  if (wide) {
    sums.resize(out.count());
    sum = {sums.data(), out.sizes, out.strides, DType::kFloat32};
  } else {
    std::memset(out.data, 0, out.count() * size_of(out.dtype));
  }
  std::vector<char> memory;
  if (wide || !grad.contiguous()) {
    memory.resize(grad.count() * size_of(sum.dtype));
    source = {memory.data(), grad.sizes, &strides, sum.dtype};
    copy_cast(source, grad);
  }
  IntegerIndices indices(sum, k.list(1), "index");
  put_values(sum, Places(sum, indices, "index"), source.data, false, true, k.op);
  if (wide) copy_cast(out, sum);
}

void index_put_kernel(KernelContext& k) {
  const Operand &input = k.list(0)[0], &values = k.list(2)[0], &out = k.out();
  IntegerIndices indices(input, k.list(1), k.op);
  const Dims& shape = indices.layout.sizes;
  TW_CHECK(broadcast_sizes(shape, *values.sizes, k.op) == shape, kRuntime, k.op, ": values of shape ",
           *values.sizes, " do not broadcast to the indexed shape ", shape);
  Places places(out, indices, k.op);
  if (out.data != input.data) copy_cast(out, input);
  bool broadcast = values.count() == 1;
  bool ready = values.dtype == out.dtype && (broadcast || (*values.sizes == shape && values.contiguous()));
  std::vector<char> memory;
  const void* source = values.data;
  if (!ready) {
    const Dims& wanted = broadcast ? *values.sizes : shape;
    Dims strides = contiguous_strides(wanted);
    memory.resize(numel(wanted) * size_of(out.dtype));
    copy_cast(Operand{memory.data(), &wanted, &strides, out.dtype}, values);
    source = memory.data();
  }
  put_values(out, places, source, broadcast, k.attrs<IndexPutAttrs>().accumulate, k.op);
}

}  // namespace

void kernels_index(KernelTable& table) {
  table.add("index_gather", index_gather_kernel);
  table.add("index_gather_backward", index_gather_backward_kernel);
  table.add("index_put", index_put_kernel);
}

}  // namespace tw::ops
