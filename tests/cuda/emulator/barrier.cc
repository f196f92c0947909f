#include "cuda/common/barrier.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/cat.h"
#include "tests/cuda/emulator/shared.h"
#include "tests/cuda/emulator/tensor_copy.h"

namespace tw::cuda::emulator {

namespace {

using Times = std::vector<uint32_t>;  // of each thread

void learn(Times& to, const Times& from) {
  for (size_t i = 0; i < to.size(); i++) to[i] = std::max(to[i], from[i]);
}

struct State {
  const void* at;
  int arrivals, left;     // of a phase; of this one
  int64_t bytes = 0;      // that are expected and have not come
  uint32_t phase = 0;     // how many are over
  Times gathered, known;  // by this phase's arrivals; by those of phases that are over
  Times seen;             // by each thread: how many phases it has waited for
};

std::deque<State> g_states;  // of the block's barriers
std::vector<Times> g_known;  // by each thread
size_t g_threads_of_block = 0;

State* find(const void* barrier) {
  for (State& state : g_states)
    if (state.at == barrier) return &state;
  return nullptr;
}

State& state_of(const void* barrier) {
  State* state = find(barrier);
  if (!state) fail("uses a barrier that nobody has begun");
  if (g_now.running) check_shared(barrier, sizeof(Barrier), Access::kRead);
  return *state;
}

void end_phase_if_complete(State& state) {
  if (state.left > 0 || state.bytes != 0) return;
  state.phase++;
  state.left = state.arrivals;
  learn(state.known, state.gathered);
}

struct Awaited {
  State* state;
  int phase;
  bool over() const { return (state->phase & 1) != (static_cast<uint32_t>(phase) & 1); }
};

}  // namespace

void begin_barriers(unsigned threads) {
  g_states.clear();
  g_threads_of_block = threads;
  g_known.assign(threads, Times(threads, 0));
  for (size_t i = 0; i < threads; i++) g_known[i][i] = 1;
  drop_copies();
}

void begin_barrier(Barrier* barrier, int arrivals) {
  if (!is_shared(barrier)) fail("begins a barrier outside of shared memory");
  check_alignment(barrier, sizeof(Barrier));
  check_shared(barrier, sizeof(Barrier), Access::kWrite);
  if (find(barrier)) fail("begins a barrier anew");
  Times none(g_threads_of_block, 0);
  g_states.push_back({barrier, arrivals, arrivals, 0, 0, none, none, none});
}

void arrive(Barrier* barrier, int64_t expected_bytes) {
  State& state = state_of(barrier);
  if (state.left == 0) fail("arrives at a barrier that all have arrived at");
  Times& own = g_known[g_now.thread.x];
  learn(state.gathered, own);
  own[g_now.thread.x]++;
  state.bytes += expected_bytes;
  state.left--;
  end_phase_if_complete(state);
}

void wait_for(Barrier* barrier, int phase, std::source_location where) {
  State& state = state_of(barrier);
  Awaited awaited{&state, phase};
  wait_until([](const void* subject) { return static_cast<const Awaited*>(subject)->over(); }, &awaited,
             where);
  learn(g_known[g_now.thread.x], state.known);
  state.seen[g_now.thread.x] = state.phase;
}

uint32_t time_of(int thread) { return g_known[thread][thread]; }
uint32_t known_time(int thread) { return g_known[g_now.thread.x][thread]; }

uint32_t phase_of(const void* barrier) { return state_of(barrier).phase; }
uint32_t phases_seen(const void* barrier) { return find(barrier)->seen[g_now.thread.x]; }

void bytes_arrive(const void* barrier, int64_t size_bytes) {
  State& state = *find(barrier);
  state.bytes -= size_bytes;
  end_phase_if_complete(state);
}

}  // namespace tw::cuda::emulator
