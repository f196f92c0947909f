// Waiting for whichever comes first of several requests and of news from other threads.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace tw::comm {

// Works on the requests of this process until `done()` says so, or the time is over: false then. `done` is
// called often, on this thread, and looks at everything that it waits for: it may test requests. Once it has
// said yes it is not called again, so it may take what it has found. Spins for a moment after something has
// moved while the processes of the machine number no more than its cores, then sleeps.
bool progress_until(FunctionRef<bool()> done, int64_t timeout_ms);

// After something was published with a sequentially consistent store: makes those who sleep in progress_until
// look again. Any thread; costs a load where nobody sleeps.
void wake_progress();

// Of the cores that this process may use, those that it need not share with the other processes of the job on
// its machine; 0 where these outnumber the cores.
int cores_of_process(int usable);

}  // namespace tw::comm
