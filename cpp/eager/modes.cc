#include "eager/modes.h"

namespace tw::eager {

constinit thread_local Modes t_modes;

}  // namespace tw::eager
