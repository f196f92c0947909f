// Every op's inference on inputs and attributes that nobody would give it: it refuses them by an Error or
// accepts them, and what it accepts goes through the text form. Run with the address sanitizer it also finds
// rules that look past the end of a list.
#include "ir/graph_text.h"
#include "ir/random_nodes.h"
#include "ir/verify.h"
#include "test.h"

using namespace tw;
using namespace tw::ir;

namespace {

// An Error here is the test's failure, not the rule's refusal.
std::unique_ptr<Graph> read_back(const std::string& text) {
  try {
    return parse_graph(text);
  } catch (const Error& error) {
    throw std::runtime_error(cat(error.what(), "\n", text));
  }
}

}  // namespace

TEST(no_inputs_break_an_inference_rule) {
  eager::initialize();
  test::RandomNodes nodes(3);
  int accepted = 0;
  std::string wrong;
  for (const auto& def : registry().all()) {
    if (!def->infer) continue;
    for (int round = 0; round < 200; round++) {
      try {
        auto graph = nodes.graph_of(*def);
        accepted++;
        std::string text = print_graph(*graph);
        if (print_graph(*read_back(text)) != text) wrong += text;
      } catch (const Error&) {
      } catch (const std::exception& error) {
        wrong += cat(def->name(), ": ", error.what(), "\n");
        break;
      }
    }
  }
  CHECK_EQ(wrong, "");
  CHECK_GT(accepted, 5000);
}
