// In-place ops and views on the tape. Writing to a view changes its base and every other view of it; each
// keeps a right history:
//
//   base b, view v = b[i], v.mul_(w)      b gets CopySlices(history of b, MulBackward): the gradient of b
//   inside the
//                                         window goes through the op, outside it passes on unchanged
//   any view read afterwards              its grad_fn is made anew as a window (as_strided) on b's new
//   history
#pragma once

#include "eager/node.h"

namespace tw::eager {

// Marks `result` as a view of `source` (of its base, if that is a view itself).
void set_view(TensorImpl& result, const Tensor& source);
// Makes a view's grad_fn right again after writes to its storage.
void refresh_view_history(TensorImpl& view);
// Throws kRuntime when autograd forbids writing to `self` (a leaf, a view of a leaf).
void check_inplace_allowed(TensorImpl& self, const char* op);
// `node` describes what an in-place op did to `self`; it becomes part of the history of self and of its base.
void rebase_history(TensorImpl& self, Ref<Node> node);

}  // namespace tw::eager
