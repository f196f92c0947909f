// Where the tensors of a saved graph lie: whole in the file, laid out when it is loaded, there or elsewhere.
#pragma once

#include "session/archive.h"
#include "session/logical_program.h"

namespace tw::session {

// Of each result of a trace: "" for a local tensor, the layout of a global one, with "any " in front where it
// lies as the program finds best.
std::vector<std::string> places_of(const std::vector<eager::Tensor>& results);
// Throws kValue for other texts.
std::vector<ResultPlace> parse_places(const std::vector<std::string>& places);

// The ranks of the archive's tensors, in the order in which its graph names them, become those of
// `placement`. Throws kPlacement where there are others than so many, or the archive has no global tensors.
void move_archive(Archive& archive, const sbp::PlacementRef& placement);
// Lays variables and constants out as the graph says. Throws kPlacement where the job lacks their ranks.
void lay_out_tensors(Archive& archive);

}  // namespace tw::session
