// One pass; floor: the operands' bytes over the bandwidth (gcd and lcm: some divisions an element).
#include "device/cpu/loops.h"

namespace tw::ops {

using namespace device;

namespace {

struct And {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return a ^ b;
  }
};

template <class T>
TW_INLINE bool within_width(T shift) {
  return shift >= 0 && static_cast<uint64_t>(shift) < sizeof(T) * 8;
}
struct LeftShift {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    // Unsigned, as shifting into the sign is undefined.
    return within_width(b) ? static_cast<T>(static_cast<uint64_t>(a) << b) : T(0);
  }
};
struct RightShift {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return within_width(b) ? static_cast<T>(a >> b) : static_cast<T>(a < 0 ? -1 : 0);
  }
};

template <class T>
TW_INLINE uint64_t magnitude(T a) {
  return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
}
TW_INLINE uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
struct Gcd {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    return static_cast<T>(common_divisor(magnitude(a), magnitude(b)));
  }
};
struct Lcm {
  template <class T>
  TW_INLINE T operator()(T a, T b) const {
    uint64_t divisor = common_divisor(magnitude(a), magnitude(b));
    return divisor ? static_cast<T>(magnitude(a) / divisor * magnitude(b)) : T(0);
  }
};

template <class F>
void int_bool_kernel(KernelContext& k) {
  dispatch_int_bool(k.out().dtype, k.op,
                    [&]<class T>() { binary_loop<T, T, T>(k, [](T a, T b) -> T { return F()(a, b); }); });
}
template <class F>
void int_kernel(KernelContext& k) {
  dispatch_int(k.out().dtype, k.op,
               [&]<class T>() { binary_loop<T, T, T>(k, [](T a, T b) -> T { return F()(a, b); }); });
}

void bitwise_not_kernel(KernelContext& k) {
  dispatch_int_bool(k.out().dtype, k.op, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      unary_loop<T, T>(k, [](T a) { return !a; });
    else
      unary_loop<T, T>(k, [](T a) { return static_cast<T>(~a); });
  });
}

}  // namespace

void kernels_logic(KernelTable& table) {
  table.add("bitwise_and", int_bool_kernel<And>);
  table.add("bitwise_or", int_bool_kernel<Or>);
  table.add("bitwise_xor", int_bool_kernel<Xor>);
  table.add("bitwise_not", bitwise_not_kernel);
  table.add("bitwise_left_shift", int_kernel<LeftShift>);
  table.add("bitwise_right_shift", int_kernel<RightShift>);
  table.add("gcd", int_kernel<Gcd>);
  table.add("lcm", int_kernel<Lcm>);
}

}  // namespace tw::ops
