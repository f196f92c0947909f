#pragma once

#include <cstdint>

#include "base/philox.h"
#include "ops/random_part.h"

namespace tw::ops {

// The one or two numbers of a distribution, in the order of its schema.
struct DistributionAttrs {
  double a = 0, b = 0;
  PhiloxKey key;
  RandomPart part;
};

struct IntegerAttrs {
  int64_t low = 0, high = 0;  // high is not drawn
  PhiloxKey key;
  RandomPart part;
};

struct PermutationAttrs {
  int64_t n = 0;
  PhiloxKey key;
};

struct MultinomialAttrs {
  int64_t num_samples = 0;
  bool replacement = false;
  PhiloxKey key;
  RandomPart part;
};

}  // namespace tw::ops
