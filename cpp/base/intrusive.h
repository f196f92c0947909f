// Reference counts kept inside the object: one allocation an object, one word a handle.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace tw {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  // Of an object that no other thread knows yet: without an atomic operation, some 4 ns.
  void retain_new() const { count_.store(use_count() + 1, std::memory_order_relaxed); }
  // True when this was the last reference.
  bool drop() const {
    if (count_.load(std::memory_order_acquire) == 1) return true;  // sole owner: nobody can race with us
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  unsigned use_count() const { return count_.load(std::memory_order_relaxed); }

 protected:
  virtual ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  virtual void destroy() const { delete this; }
  mutable std::atomic<unsigned> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* pointer) : pointer_(pointer) {
    if (pointer_) pointer_->retain();
  }
  Ref(const Ref& other) : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  template <class U>
  Ref(Ref<U>&& other) noexcept : pointer_(other.release()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_ && pointer_->drop()) static_cast<const RefCounted*>(pointer_)->destroy();
  }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  T* release() { return std::exchange(pointer_, nullptr); }
  static Ref adopt(T* pointer) {
    Ref ref;
    ref.pointer_ = pointer;
    return ref;
  }
  friend bool operator==(const Ref& a, const Ref& b) { return a.pointer_ == b.pointer_; }

 private:
  T* pointer_ = nullptr;
};

// A new object, which its constructor has not given to another thread.
template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  T* object = new T(std::forward<Args>(args)...);
  object->retain_new();
  return Ref<T>::adopt(object);
}

}  // namespace tw
