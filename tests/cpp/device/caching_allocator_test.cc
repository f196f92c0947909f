#include "device/cpu/caching_allocator.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/cpu/limits.h"
#include "device/cpu/size_class.h"
#include "test.h"

namespace tw::device {

namespace {

CachingAllocator& allocator() { return CachingAllocator::get(); }

bool aligned(void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

struct Block {
  unsigned char* data;
  size_t size;
  unsigned char mark;
};

Block take(std::mt19937& random, unsigned char mark) {
  size_t size = random() % 8 == 0 ? random() % 300000 : random() % 2000;
  auto* data = static_cast<unsigned char*>(allocator().allocate(size));
  std::memset(data, mark, size);
  return {data, size, mark};
}

// False when another block wrote into this one.
bool give_back(const Block& block) {
  bool whole = true;
  for (size_t i = 0; i < block.size; i++) whole &= block.data[i] == block.mark;
  allocator().free(block.data, block.size);
  return whole;
}

}  // namespace

TEST(size_classes_hold_their_sizes_with_little_waste) {
  for (int c = 0; c + 1 < kClasses - 8; c++) {
    CHECK_LT(class_bytes(c), class_bytes(c + 1));
    CHECK_EQ(size_class(class_bytes(c)), c);
    CHECK_EQ(size_class(class_bytes(c) + 1), c + 1);
    CHECK_EQ(class_bytes(c) % kAlignment, 0);
    if (c >= kLinearClasses) CHECK_LE(class_bytes(c + 1), class_bytes(c) / 4 * 5);
  }
  CHECK_EQ(size_class(0), 0);
  CHECK_EQ(size_class(kSmallLimit), kSmallClasses - 1);
}

TEST(allocator_blocks_are_aligned_apart_and_keep_their_bytes) {
  std::mt19937 random(1);
  std::vector<Block> live;
  for (int step = 0; step < 20000; step++) {
    if (live.size() < 200 || random() % 2) {
      live.push_back(take(random, static_cast<unsigned char>(step)));
      CHECK(aligned(live.back().data));
    } else {
      std::swap(live[random() % live.size()], live.back());
      CHECK(give_back(live.back()));
      live.pop_back();
    }
  }
  for (const Block& block : live) CHECK(give_back(block));
}

TEST(allocator_counts) {
  MemoryStats before = allocator().stats();
  void* small = allocator().allocate(1000);
  void* large = allocator().allocate(10 << 20);
  MemoryStats during = allocator().stats();
  CHECK_EQ(during.allocated_bytes - before.allocated_bytes, 1024 + (10 << 20));
  CHECK_EQ(during.allocation_count - before.allocation_count, 2);
  CHECK_GE(during.peak_allocated_bytes, during.allocated_bytes);
  CHECK_GE(during.reserved_bytes, during.allocated_bytes);
  allocator().free(small, 1000);
  allocator().free(large, 10 << 20);
  MemoryStats after = allocator().stats();
  CHECK_EQ(after.allocated_bytes, before.allocated_bytes);
  CHECK_GE(after.peak_allocated_bytes, before.allocated_bytes + (10 << 20));
  allocator().reset_peak();
  CHECK_EQ(allocator().stats().peak_allocated_bytes, after.allocated_bytes);
}

TEST(allocator_reuses_freed_blocks_and_gives_them_back) {
  size_t size = 6 << 20;
  void* first = allocator().allocate(size);
  allocator().free(first, size);
  int64_t reserved = allocator().stats().reserved_bytes;
  CHECK_EQ(allocator().allocate(size), first);
  allocator().free(first, size);
  CHECK_EQ(allocator().stats().reserved_bytes, reserved);
  allocator().empty_cache();
  CHECK_LE(allocator().stats().reserved_bytes, reserved - static_cast<int64_t>(size));
  void* small = allocator().allocate(100);
  allocator().free(small, 100);
  CHECK_EQ(allocator().allocate(100), small);
  allocator().free(small, 100);
}

TEST(allocator_lends_larger_blocks_before_it_grows) {
  CachingAllocator& allocator = CachingAllocator::get();
  allocator.empty_cache();
  constexpr size_t kLarge = 12 << 20, kSmaller = 9 << 20;
  void* block = allocator.allocate(kLarge);
  int64_t reserved = allocator.stats().reserved_bytes, allocated = allocator.stats().allocated_bytes;
  allocator.free(block, kLarge);
  void* lent = allocator.allocate(kSmaller);
  CHECK_EQ(lent, block);
  CHECK_EQ(allocator.stats().allocated_bytes, allocated);
  allocator.free(lent, kSmaller);
  CHECK_EQ(allocator.allocate(kLarge), block);  // it is still a block of 12 MiB
  CHECK_EQ(allocator.stats().reserved_bytes, reserved);
  void* half = allocator.allocate(kLarge / 2);
  allocator.free(block, kLarge);
  void* other = allocator.allocate(kLarge / 2);  // too much would be lost
  CHECK(other != block);
  allocator.free(half, kLarge / 2);
  allocator.free(other, kLarge / 2);
  allocator.empty_cache();
  CHECK_EQ(allocator.stats().reserved_bytes, reserved - static_cast<int64_t>(kLarge));
}

TEST(devices_have_blocks_and_statistics_of_their_own) {
  CachingAllocator &first = CachingAllocator::of(3), &second = CachingAllocator::of(7);
  CHECK_EQ(&first, &CachingAllocator::of(3));
  CHECK_THROWS(Error, CachingAllocator::of(CachingAllocator::kMaxDevices), "got 256");
  for (size_t size : {size_t{100}, size_t{3} << 20}) {
    MemoryStats zero = CachingAllocator::get().stats(), before = first.stats(), other = second.stats();
    void* data = first.allocate(size);
    CHECK_GE(first.stats().allocated_bytes - before.allocated_bytes, static_cast<int64_t>(size));
    CHECK_EQ(first.stats().allocation_count, before.allocation_count + 1);
    CHECK_EQ(second.stats().allocation_count, other.allocation_count);
    CHECK_EQ(CachingAllocator::get().stats().allocation_count, zero.allocation_count);
    std::thread elsewhere([&] { first.free(data, size); });
    elsewhere.join();
    CHECK_EQ(first.stats().allocated_bytes, before.allocated_bytes);
    void* foreign = second.allocate(size);
    CHECK(foreign != data);  // freed blocks stay with their device
    second.free(foreign, size);
  }
  int64_t cached = second.stats().reserved_bytes;
  first.empty_cache();
  CHECK_EQ(second.stats().reserved_bytes, cached);
}

TEST(allocator_refuses_impossible_sizes_in_words_and_works_on) {
  CHECK_THROWS(Error, allocator().allocate(static_cast<size_t>(-8)), "16.0 EiB are wanted");
  CHECK_THROWS(Error, allocator().allocate(size_t{1} << 50), "1.0 PiB are wanted");
  size_t whole = static_cast<size_t>(usable_memory_bytes());
  CHECK_THROWS(Error, allocator().allocate(whole + 1), "out of memory");
  // several that fit one by one but not together; never touched, so nothing is really taken
  size_t part = whole / 3;
  std::vector<void*> parts;
  auto take_all = [&] {
    for (int i = 0; i < 4; i++) parts.push_back(allocator().allocate(part));
  };
  CHECK_THROWS(Error, take_all(), "out of memory");
  CHECK_GE(parts.size(), 2);
  for (void* data : parts) allocator().free(data, part);
  allocator().empty_cache();
  void* data = allocator().allocate(part);
  allocator().free(data, part);
  allocator().empty_cache();
}

TEST(allocator_blocks_may_be_freed_on_another_thread) {
  MemoryStats before = allocator().stats();
  std::vector<Block> handed[4];
  std::atomic<int> broken{0};
  for (int round = 0; round < 3; round++) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        std::vector<Block> mine = std::move(handed[t]);
        for (const Block& block : mine) broken += !give_back(block);
        std::vector<Block> fresh;
        for (int i = 0; i < 2000; i++)
          fresh.push_back(take(random, static_cast<unsigned char>(16 * t + round)));
        handed[t] = std::move(fresh);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::rotate(std::begin(handed), std::begin(handed) + 1, std::end(handed));
  }
  for (auto& blocks : handed) {
    for (const Block& block : blocks) broken += !give_back(block);
  }
  CHECK_EQ(broken.load(), 0);
  CHECK_EQ(allocator().stats().allocated_bytes, before.allocated_bytes);
}

TEST(allocator_memory_of_a_repeated_step_does_not_grow) {
  auto step = [] {
    std::mt19937 random(3);
    std::vector<Block> blocks;
    for (int i = 0; i < 500; i++) blocks.push_back(take(random, 1));
    for (const Block& block : blocks) give_back(block);
  };
  step();
  int64_t reserved = allocator().stats().reserved_bytes;
  for (int i = 0; i < 20; i++) step();
  CHECK_EQ(allocator().stats().reserved_bytes, reserved);
}

TEST(allocator_works_in_a_forked_child) {
  void* data = allocator().allocate(100);
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    std::mt19937 random(1);
    bool whole = true;
    for (int i = 0; i < 1000; i++) whole &= give_back(take(random, 5));
    allocator().free(data, 100);
    _exit(whole ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 7);
  allocator().free(data, 100);
}

}  // namespace tw::device
