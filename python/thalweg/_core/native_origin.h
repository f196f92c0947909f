// Where in the user's code this thread is.
#pragma once

#include <memory>

#include "eager/tracer.h"

namespace tw::py {

// For one table of strings each.
std::unique_ptr<eager::OriginSource> python_origins();

}  // namespace tw::py
