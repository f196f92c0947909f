#include "device/cpu/parallel.h"

#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "device/cpu/limits.h"
#include "device/cpu/ordering.h"
#include "device/cpu/worker_cores.h"

namespace tw::device {

namespace {

// More pieces than threads, so that a thread that is held up leaves its share to the others.
constexpr int64_t kPiecesPerThread = 4;

thread_local bool in_piece __attribute__((tls_model("initial-exec"))) = false;

// A number of threads, and what it hears of the workers among them.
class Team : tbb::task_scheduler_observer {
 public:
  Team(int threads, WorkerCores& cores) : task_scheduler_observer(arena_), arena_(threads), cores_(cores) {
    observe(true);
  }
  tbb::task_arena& arena() { return arena_; }

 private:
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) cores_.woken();
  }
  void on_scheduler_exit(bool is_worker) override {
    if (is_worker) cores_.sleeps();
  }

  tbb::task_arena arena_;
  WorkerCores& cores_;
};

class Pool {
 public:
  static Pool& get() {
    static Pool* pool = new Pool;  // never destroyed: kernels may run while the process exits
    return *pool;
  }
  int threads() const { return threads_.load(std::memory_order_relaxed); }
  // The arena to run a region in, its workers about to be woken.
  tbb::task_arena& arena() {
    cores_.make_room();
    return team_.load(std::memory_order_acquire)->arena();
  }

  void resize(int count) {
    std::lock_guard lock(mutex_);
    if (forked_) return;
    // Regions may be running in the arena of another size, so teams are kept.
    std::unique_ptr<Team>& team = teams_[count];
    if (!team) team = std::make_unique<Team>(count, cores_);
    if (count > usable_) {  // TBB itself starts no more threads than cores unless told so
      usable_ = count;
      limit_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, count);
    }
    team_.store(team.get(), std::memory_order_release);
    threads_.store(count, std::memory_order_relaxed);
  }

 private:
  Pool() : usable_(usable_cores()) {
    const char* wanted = std::getenv("OMP_NUM_THREADS");
    int count = wanted ? std::atoi(wanted) : 0;
    resize(count > 0 ? count : usable_);
    // The child has the caller only; the pool is held still meanwhile, so that the child's copy is whole.
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                   [] {
                     get().forked_ = true;
                     get().threads_ = 1;
                     get().mutex_.unlock();
                   });
  }

  std::mutex mutex_;
  int usable_;
  bool forked_ = false;
  WorkerCores cores_;
  std::map<int, std::unique_ptr<Team>> teams_;
  std::unique_ptr<tbb::global_control> limit_;
  std::atomic<Team*> team_{nullptr};
  std::atomic<int> threads_{1};
};

// A piece runs after the caller began the region and before the caller leaves it.
class PieceScope {
 public:
  PieceScope(OrderMark& begun, OrderMark& done) : done_(done) {
    begun.acquire();
    in_piece = true;
  }
  ~PieceScope() {
    in_piece = false;
    done_.release();
  }

 private:
  OrderMark& done_;
};

struct RegionScope {
  OrderMark begun, done;
  RegionScope() { begun.release(); }
  ~RegionScope() { done.acquire(); }
};

}  // namespace

void detail::parallel_pieces(int64_t begin, int64_t end, int64_t grain,
                             FunctionRef<void(int64_t, int64_t)> body) {
  Pool& pool = Pool::get();
  int64_t threads = pool.threads(), count = end - begin;
  if (threads == 1 || in_piece) return body(begin, end);
  int64_t pieces = std::min(count / std::max<int64_t>(grain, 1), threads * kPiecesPerThread);
  RegionScope region;
  auto run_piece = [&](int64_t i) {
    PieceScope scope(region.begun, region.done);
    body(begin + count / pieces * i + std::min(i, count % pieces),
         begin + count / pieces * (i + 1) + std::min(i + 1, count % pieces));
  };
  pool.arena().execute([&] {
    // Isolated: while it waits, the caller must not start pieces of another caller's region.
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(int64_t{0}, pieces, run_piece, tbb::simple_partitioner()); });
  });
}

int num_threads() { return Pool::get().threads(); }

void set_num_threads(int count) {
  TW_CHECK(count >= 1, kValue, "set_num_threads: at least 1 thread is wanted, got ", count);
  Pool::get().resize(count);
}

}  // namespace tw::device
