#include "cuda/common/product.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cuda/common/copy.h"
#include "cuda/common/launch.h"
#include "cuda/device/gemm.h"
#include "cuda/device/scratch.h"

namespace tw::cuda {

using device::Operand;

namespace {

// Whether the library can read a matrix of these sizes and strides.
bool lies_well(const Operand& x) {
  int64_t rows = x.size(-2), columns = x.size(-1), down = x.stride(-2), right = x.stride(-1);
  bool by_rows = right == 1 && down >= columns, by_columns = down == 1 && right >= rows;
  return by_rows || by_columns;
}

// An operand whose matrices lie by rows or by columns, copied where they do not; what is expanded is copied
// once.
class Factor {
 public:
  Factor(const Operand& given, const char* op) : operand_(given) {
    if (lies_well(given)) return;
    Dims sizes = *given.sizes;
    auto lead = static_cast<int64_t>(sizes.size()) - 2;
    for (int64_t dim = 0; dim < lead; dim++)
      if (given.stride(dim) == 0) sizes[dim] = std::min<int64_t>(sizes[dim], 1);
    strides_ = contiguous_strides(sizes);
    copy_ = std::make_unique<DeviceScratch>(static_cast<size_t>(numel(sizes)) * size_of(given.dtype));
    copy_cast({copy_->as<void>(), &sizes, &strides_, given.dtype},
              {given.data, &sizes, given.strides, given.dtype}, op);
    for (int64_t dim = 0; dim < lead; dim++)
      if (sizes[dim] != given.size(dim)) strides_[dim] = 0;
    operand_ = {copy_->as<void>(), given.sizes, &strides_, given.dtype};
  }
  const Operand& operand() const { return operand_; }

 private:
  Dims strides_;
  std::unique_ptr<DeviceScratch> copy_;
  Operand operand_;
};

// A leading dim of the product: its size, and the elements from matrix to matrix in a, b and out.
struct Lead {
  int64_t size, a, b, out;
};

// Leading dims, innermost first, neighbours joined.
std::vector<Lead> leads_of(const Operand& out, const Operand& a, const Operand& b) {
  auto stride = [&](const Operand& x, int64_t dim) {
    int64_t own = dim - (out.rank() - x.rank());
    return own < 0 || x.size(own) == 1 ? 0 : x.stride(own);
  };
  std::vector<Lead> leads;
  for (int64_t dim = out.rank() - 3; dim >= 0; dim--) {
    Lead next{out.size(dim), stride(a, dim), stride(b, dim), out.stride(dim)};
    if (next.size == 1) continue;
    if (!leads.empty()) {
      Lead& last = leads.back();
      bool joins =
          next.a == last.a * last.size && next.b == last.b * last.size && next.out == last.out * last.size;
      if (joins) {
        last.size *= next.size;
        continue;
      }
    }
    leads.push_back(next);
  }
  return leads;
}

// One matrix b for rows of a that follow each other evenly: a single large product.
bool fold(Gemm& gemm, std::vector<Lead>& leads) {
  if (leads.size() != 1 || leads[0].b != 0 || gemm.a.right != 1) return false;
  if (leads[0].a != gemm.m * gemm.a.down || leads[0].out != gemm.m * gemm.n) return false;
  gemm.m *= leads[0].size;
  leads.clear();
  return true;
}

void move(Gemm& gemm, const Lead& lead, int64_t index, int64_t size) {
  gemm.a.data = static_cast<const char*>(gemm.a.data) + index * lead.a * size;
  gemm.b.data = static_cast<const char*>(gemm.b.data) + index * lead.b * size;
  gemm.c = static_cast<char*>(gemm.c) + index * lead.out * size;
}

// The innermost leading dim is the library's batch, the others are a loop.
void run_all(const Gemm& gemm, const std::vector<Lead>& leads, size_t outer) {
  if (outer == 0) return run_gemm(gemm, current_stream());
  const Lead& lead = leads[outer];
  for (int64_t i = 0; i < lead.size; i++) {
    Gemm one = gemm;
    move(one, lead, i, size_of(gemm.dtype));
    run_all(one, leads, outer - 1);
  }
}

}  // namespace

void matrix_product(const Operand& out, const Operand& a_given, const Operand& b_given, const char* op,
                    const Scalar& alpha, const Scalar& beta, const Operand& bias) {
  if (out.count() == 0) return;
  TW_CHECK(is_float(out.dtype) || is_complex(out.dtype), kNotImplemented, op, ": matrix products of dtype ",
           out.dtype, " are not supported on CUDA");
  Factor a(a_given, op), b(b_given, op);
  const Operand &x = a.operand(), &y = b.operand();
  Gemm gemm{op,
            out.dtype,
            out.size(-2),
            out.size(-1),
            x.size(-1),
            1,
            {x.data, x.stride(-2), x.stride(-1), 0},
            {y.data, y.stride(-2), y.stride(-1), 0},
            out.data,
            out.size(-1),
            0,
            alpha.to_complex(),
            beta.to_complex(),
            bias.present() ? bias.data : nullptr};
  std::vector<Lead> leads = leads_of(out, x, y);
  if (!leads.empty() && !fold(gemm, leads)) {
    gemm.batches = leads[0].size;
    gemm.a.batch = leads[0].a;
    gemm.b.batch = leads[0].b;
    gemm.c_batch = leads[0].out;
  }
  run_all(gemm, leads, leads.empty() ? 0 : leads.size() - 1);
}

}  // namespace tw::cuda
