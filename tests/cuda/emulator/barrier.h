// Barriers of shared memory, and copies of tiles that arrive at them.
//
// Nobody is told of a copy before the barrier's phase is over, and a copy comes no sooner than when nobody
// else can go on: who reads without waiting reads what is unset, or is being filled. What a thread knows of
// the others' reads it has from the phases that it has waited for: a tile is copied over what those alone
// have read whose arrivals it knows of. Not seen: a thread that writes over what others' products read.
#pragma once

#include <cstdint>
#include <source_location>

#include "tests/cuda/emulator/device.h"

namespace tw::cuda::emulator {

void begin_barriers(unsigned threads);  // of the block that begins

void begin_barrier(Barrier* barrier, int arrivals);
void arrive(Barrier* barrier, int64_t expected_bytes);
void wait_for(Barrier* barrier, int phase, std::source_location where);

// A number that grows with each of a thread's arrivals, and what the thread that runs knows of another's.
uint32_t time_of(int thread);
uint32_t known_time(int thread);
// How many phases are over, and how many the thread that runs has waited for.
uint32_t phase_of(const void* barrier);
uint32_t phases_seen(const void* barrier);
// Called between threads.
void bytes_arrive(const void* barrier, int64_t size_bytes);

}  // namespace tw::cuda::emulator

namespace tw::cuda {

inline void begin_barrier(Barrier* barrier, int arrivals) { emulator::begin_barrier(barrier, arrivals); }
inline void publish_barriers() {}
inline void arrive(Barrier* barrier) { emulator::arrive(barrier, 0); }
inline void arrive_and_expect(Barrier* barrier, int size_bytes) { emulator::arrive(barrier, size_bytes); }
inline void wait_for(Barrier* barrier, int phase, TW_WHERE) { emulator::wait_for(barrier, phase, where); }

}  // namespace tw::cuda
