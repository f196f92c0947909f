#include "eager/generator.h"

namespace tw::eager {

Generator& default_generator() {
  static Ref<Generator> instance = make_ref<Generator>(0);
  return *instance;
}

}  // namespace tw::eager
