// A vector whose first N elements live inside the object; for shapes and argument lists on the hot path.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tw {

template <class T, int N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(size_t count, const T& value = T()) { assign(count, value); }
  SmallVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <class Iter>
    requires(!std::is_integral_v<Iter>)
  SmallVector(Iter first, Iter last) {
    append(first, last);
  }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  auto rbegin() const { return std::reverse_iterator<const T*>(end()); }
  auto rend() const { return std::reverse_iterator<const T*>(begin()); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    new (data_ + size_) T(std::move(value));
    size_++;
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) grow(size_ + 1);
    T* item = new (data_ + size_) T(std::forward<Args>(args)...);
    size_++;  // only now: a constructor that throws leaves no item
    return *item;
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  void resize(size_t count, const T& value = T()) {
    reserve(count);
    while (size_ > count) pop_back();
    for (; size_ < count; size_++) new (data_ + size_) T(value);
  }
  void assign(size_t count, const T& value) {
    clear();
    resize(count, value);
  }
  template <class Iter>
  void append(Iter first, Iter last) {
    reserve(size_ + static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first, size_++) new (data_ + size_) T(*first);
  }
  void insert(T* at, T value) {
    size_t index = at - begin();
    push_back(std::move(value));
    std::rotate(begin() + index, end() - 1, end());
  }
  void erase(T* at) {
    std::move(at + 1, end(), at);
    pop_back();
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (unsigned i = 0; i < a.size_;
         i++)  // a handful of items: a loop beats the memcmp that std::equal calls
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  T* inline_data() { return std::launder(reinterpret_cast<T*>(storage_)); }
  bool on_heap() const { return data_ != reinterpret_cast<const T*>(storage_); }

  void grow(size_t count) {
    size_t capacity = std::max(count, size_t{2} * capacity_);
    T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T), std::align_val_t(alignof(T))));
    std::uninitialized_move(begin(), end(), fresh);
    std::destroy(begin(), end());
    free_heap();
    data_ = fresh;
    capacity_ = static_cast<unsigned>(capacity);
  }
  void free_heap() {
    if (on_heap()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  void release() {
    std::destroy(begin(), end());
    free_heap();
    data_ = inline_data();
    size_ = 0;
    capacity_ = N;
  }
  void take(SmallVector& other) {
    if (other.on_heap()) {
      data_ = other.data_;
      size_ = other.size_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_data();
      other.size_ = 0;
      other.capacity_ = N;
    } else {
      for (T& item : other) new (data_ + size_++) T(std::move(item));
      other.clear();
    }
  }

  T* data_ = reinterpret_cast<T*>(storage_);
  unsigned size_ = 0;
  unsigned capacity_ = N;
  alignas(T) unsigned char storage_[N * sizeof(T)];
};

}  // namespace tw
