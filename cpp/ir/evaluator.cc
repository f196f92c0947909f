#include "ir/evaluator.h"

#include <atomic>

namespace tw::ir {

namespace {
std::atomic<Evaluator*> g_evaluator{nullptr};
}

Evaluator* Evaluator::current() { return g_evaluator; }
void Evaluator::set_current(Evaluator* evaluator) { g_evaluator = evaluator; }

}  // namespace tw::ir
