// Proves that a plan can run for ever: it never deadlocks and no value is overwritten, or moved, before its
// last read. A plan for which that cannot be proven is refused.
//
// Stages, each of which takes for granted what those before it have found:
// 1. structure: everything that is named exists, values lie inside their segment or slot, launches are whole,
// rates
//    divide each other, each register has one writer;
// 2. tokens: one step runs to its end from the initial tokens. Firings never compete for a token and a whole
// step
//    leaves every register as it found it, so one step that ends proves that all do, in any order of firings,
//    on any number of threads;
// 3. meetings: communications come one after the other, in the order in which the plan lists them, whatever
// the speed of
//    the actors: processes whose lists agree never wait for each other in a circle;
// 4. memory: within an actor, in the order of its launches, what is read is what was written there last;
// between
//    actors, memory is shared only where the registers forbid that both use it at a time.
#pragma once

#include "plan/plan.h"

namespace tw::plan {

// Throws kValue with the reason; kInternal is never thrown, whatever the plan holds.
void check_plan(const Plan& plan);

void check_structure(const Plan& plan);
void check_regions(const Plan& plan);
void check_tokens(const Plan& plan);
void check_meetings(const Plan& plan);
void check_memory(const Plan& plan);

}  // namespace tw::plan
