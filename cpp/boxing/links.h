// The links between the ranks of the job, as plans are to know them.
#pragma once

#include "sbp/boxing.h"

namespace tw::boxing {

// Which ranks are on one machine is what the world says now; speeds are those of sbp::LinkModel.
sbp::LinkModel link_model();

}  // namespace tw::boxing
