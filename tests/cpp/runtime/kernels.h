// Small kernels over float32 arrays, and a KernelSource that finds them by name.
#pragma once

#include <sched.h>

#include <atomic>
#include <map>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/philox.h"
#include "runtime/kernel_source.h"

namespace tw::test {

using device::KernelContext;

// Attributes of every test op: one number (from the text "3.5"), a key, and what a test wants done in the
// kernel.
struct TestAttrs {
  double number = 0;
  PhiloxKey key;
  void (*hook)(void*) = nullptr;
  void* hook_argument = nullptr;
};

// Element i of an operand of any rank, in logical order.
inline float& element(const device::Operand& x, int64_t i) {
  int64_t at = 0;
  for (int64_t dim = x.rank() - 1; dim >= 0; dim--) {
    at += i % x.size(dim) * x.stride(dim);
    i /= x.size(dim);
  }
  return x.as<float>()[at];
}

template <class Body>
void each_element(KernelContext& c, Body&& body) {
  for (int64_t i = 0; i < c.out().count(); i++) element(c.out(), i) = body(i);
}

inline void fill_kernel(KernelContext& c) {
  each_element(c, [&](int64_t) { return static_cast<float>(c.attrs<TestAttrs>().number); });
}
inline void copy_kernel(KernelContext& c) {
  each_element(c, [&](int64_t i) { return element(c.in(0), i); });
}
inline void add_kernel(KernelContext& c) {
  each_element(c, [&](int64_t i) { return element(c.in(0), i) + element(c.in(1), i); });
}
// in(0) · number + in(1) + the draw; works in place
inline void mix_kernel(KernelContext& c) {
  const auto& attrs = c.attrs<TestAttrs>();
  each_element(c, [&](int64_t i) {
    return element(c.in(0), i) * static_cast<float>(attrs.number) + element(c.in(1), i);
  });
}
inline void draw_kernel(KernelContext& c) {
  const auto& key = c.attrs<TestAttrs>().key;
  each_element(c, [&](int64_t i) { return static_cast<float>(key.seed * 1000 + key.draw * 10 + i); });
}
// Adds in(1) to in(0).
inline void accumulate_kernel(KernelContext& c) {
  for (int64_t i = 0; i < c.in(0).count(); i++) element(c.in(0), i) += element(c.in(1), i);
}
inline void hook_kernel(KernelContext& c) {
  const auto& attrs = c.attrs<TestAttrs>();
  if (attrs.hook) attrs.hook(attrs.hook_argument);
  for (size_t o = 0; o < c.outputs.size(); o++)
    for (int64_t i = 0; i < c.out(o).count(); i++) {
      float sum = static_cast<float>(attrs.number);
      for (size_t in = 0; in < c.inputs.size(); in++) sum += element(c.in(in), i % c.in(in).count());
      element(c.out(o), i) = sum;
    }
}
inline void fail_kernel(KernelContext&) { TW_FAIL(kValue, "fail: wanted a test, got one"); }

class TestKernel final : public runtime::LaunchKernel {
 public:
  explicit TestKernel(device::Kernel function, const TestAttrs& attrs) : attrs(attrs) {
    kernel = function;
    attributes = &this->attrs;
    random_key_offset = offsetof(TestAttrs, key);
  }
  void write_number(const plan::Lifted&, const Scalar& value) override { attrs.number = value.to_double(); }
  TestAttrs attrs;
};

// Adds its inputs to its number, as hook does, when its request has been tested so many times, or when
// `may_end` says so.
class TestMeeting final : public runtime::LaunchKernel {
 public:
  explicit TestMeeting(const TestAttrs& attrs) : attrs_(attrs) {}
  void write_number(const plan::Lifted&, const Scalar&) override {}

  Ref<comm::Request> post(const KernelContext& c) override {
    class Posted final : public comm::Request {
     public:
      Posted(const KernelContext& c, TestMeeting& owner) : context_(c), owner_(owner) {
        context_.attributes = &owner.attrs_;
      }
      bool test() override {
        TW_CHECK(!fails, kComm, "meet: the other one has gone");
        TW_CHECK(!owner_.over_, kInternal, "meet: tested after it was given up");
        if (may_end ? !may_end() : ++tests_ < 3) return false;
        hook_kernel(context_);
        return true;
      }
      void wait(int64_t) override {
        while (!test()) sched_yield();
      }

     private:
      KernelContext context_;
      TestMeeting& owner_;
      int tests_ = 0;
    };
    over_ = false;
    return make_ref<Posted>(c, *this);
  }
  void give_up(const std::string& reason) override {
    over_ = true;
    given_up.push_back(reason);
  }

  static inline bool (*may_end)() = nullptr;
  static inline std::atomic<bool> fails = false;
  static inline std::vector<std::string> given_up;  // read when no step runs

  // While it lives a test sets the above; before and after it they are as they were.
  struct Reset {
    Reset() { given_up.clear(); }
    ~Reset() {
      may_end = nullptr;
      fails = false;
    }
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;
  };

 private:
  TestAttrs attrs_;
  bool over_ = false;
};

class TestSource final : public runtime::KernelSource {
 public:
  std::unique_ptr<runtime::LaunchKernel> bind(const plan::Launch& launch) override {
    if (launch.op == "meet") {
      TestAttrs attrs;
      attrs.number = std::stod(launch.attrs);
      return std::make_unique<TestMeeting>(attrs);
    }
    auto found = kernels.find(launch.op);
    TW_CHECK(found != kernels.end(), kValue, "no kernel for ", launch.op);
    TestAttrs attrs;
    if (!launch.attrs.empty()) attrs.number = std::stod(launch.attrs);
    attrs.hook = hook;
    attrs.hook_argument = hook_argument;
    return std::make_unique<TestKernel>(found->second, attrs);
  }
  std::unique_ptr<runtime::KernelSource> body(const plan::Launch&, int) override {
    return std::make_unique<TestSource>(*this);
  }
  void (*hook)(void*) = nullptr;
  void* hook_argument = nullptr;
  std::map<std::string, device::Kernel> kernels{
      {"fill", fill_kernel}, {"copy", copy_kernel}, {"add", add_kernel},
      {"mix", mix_kernel},   {"draw", draw_kernel}, {"accumulate", accumulate_kernel},
      {"hook", hook_kernel}, {"fail", fail_kernel},
  };
};

}  // namespace tw::test
