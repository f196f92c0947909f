// A formula that gives known values from known features.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/scalar.h"

namespace tw::session {

// features[p][k] is number k in case p, wanted[p] what the formula must give there, from two cases on. The
// text is one for Formula, over r[k]; none where no formula that is tried fits.
std::optional<std::string> fit_formula(const std::vector<std::vector<Scalar>>& features,
                                       const std::vector<Scalar>& wanted);

}  // namespace tw::session
