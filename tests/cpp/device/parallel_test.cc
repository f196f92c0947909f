#include "device/cpu/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/cpu/limits.h"
#include "test.h"

namespace tw::device {

namespace {

// Sets the thread count for one test.
struct Threads {
  explicit Threads(int count) : before(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before); }
  int before;
};

int64_t sum_of_squares(int64_t n, int64_t grain) {
  std::atomic<int64_t> total{0};
  parallel_for(0, n, grain, [&](int64_t first, int64_t last) {
    int64_t part = 0;
    for (int64_t i = first; i < last; i++) part += i * i;
    total += part;
  });
  return total;
}

// The exit code of `body` in a forked child, or -1 when it took more than ten seconds.
template <class Body>
int in_child(Body body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST(parallel_covers_the_range_once) {
  for (int threads : {1, 2, 5}) {
    Threads scope(threads);
    for (int64_t n : {0, 1, 2, 7, 100, 12345}) {
      for (int64_t grain : {1, 3, 1000}) CHECK_EQ(sum_of_squares(n, grain), (n - 1) * n * (2 * n - 1) / 6);
    }
  }
}

TEST(parallel_pieces_hold_the_grain) {
  Threads scope(4);
  std::atomic<int64_t> smallest{1 << 30};
  parallel_for(10, 1010, 100, [&](int64_t first, int64_t last) {
    int64_t seen = smallest;
    while (last - first < seen && !smallest.compare_exchange_weak(seen, last - first)) {
    }
  });
  CHECK_GE(smallest.load(), 100);
}

TEST(parallel_nested_calls_stay_on_their_thread) {
  Threads scope(3);
  std::atomic<int> strays{0};
  parallel_for(0, 12, 1, [&](int64_t first, int64_t last) {
    std::thread::id here = std::this_thread::get_id();
    for (int64_t i = first; i < last; i++) {
      parallel_for(0, 100, 1, [&](int64_t, int64_t) { strays += std::this_thread::get_id() != here; });
    }
  });
  CHECK_EQ(strays.load(), 0);
}

TEST(parallel_rethrows_and_works_on) {
  Threads scope(2);
  auto fail = [] {
    parallel_for(0, 100, 1, [](int64_t first, int64_t last) {
      if (first <= 50 && 50 < last) throw Error(ErrorKind::kValue, "piece 50");
    });
  };
  CHECK_THROWS(Error, fail(), "piece 50");
  CHECK_EQ(sum_of_squares(100, 1), 328350);
}

TEST(parallel_serves_several_callers) {
  Threads scope(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; t++) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; i++) wrong += sum_of_squares(1000, 10) != 332833500;
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(wrong.load(), 0);
}

TEST(parallel_works_in_a_forked_child) {
  Threads scope(4);
  CHECK_EQ(sum_of_squares(1000, 1), 332833500);
  for (int round = 0; round < 20; round++) {
    CHECK_EQ(in_child([] { return sum_of_squares(1000, 1) == 332833500 && num_threads() == 1 ? 7 : 1; }), 7);
    CHECK_EQ(sum_of_squares(1000, 1), 332833500);
  }
  auto after_resize = [] {
    set_num_threads(3);
    return sum_of_squares(1000, 1) == 332833500 ? 7 : 1;
  };
  CHECK_EQ(in_child(after_resize), 7);
  CHECK_EQ(num_threads(), 4);
}

TEST(set_num_threads_wants_one_or_more) {
  CHECK_THROWS(Error, set_num_threads(0), "at least 1 thread");
  CHECK_THROWS(Error, set_num_threads(-3), "got -3");
}

TEST(usable_cores_lie_within_the_machine) {
  CHECK_GE(usable_cores(), 1);
  CHECK_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace tw::device
