#include "eager/modes.h"

namespace tw::eager {

Modes& modes() {
  static thread_local Modes instance;
  return instance;
}

}  // namespace tw::eager
