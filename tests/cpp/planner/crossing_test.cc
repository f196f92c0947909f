// Boxings in which other processes take part: posted early, in one order, with chains beside them.
#include "planner/crossing.h"

#include <algorithm>

#include "eager/dispatch.h"
#include "ir/emitter.h"
#include "ir/graph_text.h"
#include "ops/boxing/boxing_part.h"
#include "plan/check.h"
#include "plan/text.h"
#include "planner/packing/random.h"
#include "planner/plan_graph.h"
#include "test.h"

using namespace tw;

namespace {

std::unique_ptr<ir::Graph> parsed(std::string_view text) {
  eager::initialize();
  auto graph = ir::parse_graph(text);
  graph->number();
  return graph;
}

// The process of rank 0 among two: two gradients are reduced, each as soon as it is known, while the next is
// computed; the first is read only at the end.
constexpr const char* kStep = R"ir(graph "step" {
  input %0 "x" : float32[64, 64]
  variable %1 "v" : float32[64, 64]
  variable %2 "w" : float32[64, 64]
  %3 = mm(%0, %1) : float32[64, 64]
  %4 = mm(%3, %2) : float32[64, 64]
  %5 = transpose(%4, dim0=0, dim1=1) : float32[64, 64]
  %6 = mm(%5, %3) : float32[64, 64]
  %7 = mm(%6, %0) : float32[64, 64]
  %8 = boxing_part([%6], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[64, 64], dtype=float32, ranks=[0], order=0) : float32[64, 64]
  %9 = boxing_part([%7], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[64, 64], dtype=float32, ranks=[0], order=1) : float32[64, 64]
  %10 = sub(%2, %8) : float32[64, 64]
  %11 = sub(%1, %9) : float32[64, 64]
  assign %2 = %10
  assign %1 = %11
  return
}
)ir";

std::string actors_of(const plan::Plan& plan) {
  std::string text;
  for (const plan::Actor& actor : plan.actors) {
    text += actor.name + ":";
    for (const plan::Launch& launch : actor.launches) text += " " + launch.op;
    text += ";";
    for (int reg : actor.reads) text += cat(" after ", plan.registers[reg].name);
    text += "\n";
  }
  return text;
}

}  // namespace

TEST(what_others_take_part_in) {
  auto graph = parsed(R"ir(graph "g" {
  input %0 "x" : float32[4]
  %1 = boxing_part([%0], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[4], dtype=float32, ranks=[0], order=0) : float32[4]
  %2 = boxing_part([%0], source="cpu[0, 1] B", target="cpu[0, 1] S(0)", size=[4], dtype=float32, ranks=[0], order=1) : float32[2]
  %3 = boxing_part([%0], source="cpu[0] B", target="cpu[0] S(0)", size=[4], dtype=float32, ranks=[0], order=2) : float32[4]
  boxing_part([%0], source="cpu[0] B", target="cpu[1] B", size=[4], dtype=float32, ranks=[0], order=3)
  return %1, %2, %3
}
)ir");
  auto crossings = planner::find_crossings(*graph);
  std::string found;
  for (const auto& node : graph->nodes) found += crossings.contains(node.get()) ? "1" : "0";
  CHECK_EQ(found, "1001");  // what is cut or stays sends nothing
}

TEST(a_step_posts_early_and_reads_late) {
  auto graph = parsed(kStep);
  plan::Plan plan = planner::plan_graph(*graph);
  CHECK_EQ(actors_of(plan),
           "main 0: mm mm mm; after main 2\n"
           "boxing 0: boxing_part; after main 0\n"
           "main 1: mm; after main 0\n"
           "boxing 1: boxing_part; after boxing 0 after main 1\n"
           "main 2: sub sub; after main 1 after boxing 1\n");
  CHECK_EQ(plan.actors[4].commit, 0);
  plan::check_plan(plan);
  CHECK_EQ(plan::parse_plan(plan::print_plan(plan)), plan);
}

TEST(boxings_of_this_process_alone_stay_in_the_chain) {
  auto graph = parsed(R"ir(graph "g" {
  input %0 "x" : float32[4]
  input %1 "y" : float32[4]
  %2, %3 = boxing_part([%0, %1], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[4], dtype=float32, ranks=[0, 1], order=0) : float32[4], float32[4]
  %4 = exp(%2) : float32[4]
  return %4
}
)ir");
  plan::Plan plan = planner::plan_graph(*graph);
  CHECK_EQ(actors_of(plan), "main: boxing_part exp;\n");
}

TEST(what_is_read_at_once_leaves_nothing_beside_it) {
  auto graph = parsed(R"ir(graph "g" {
  input %0 "x" : float32[4]
  %1 = boxing_part([%0], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[4], dtype=float32, ranks=[0], order=0) : float32[4]
  %2 = exp(%1) : float32[4]
  %3 = boxing_part([%2], source="cpu[0, 1] P(sum)", target="cpu[0, 1] B", size=[4], dtype=float32, ranks=[0], order=1) : float32[4]
  return %3
}
)ir");
  plan::Plan plan = planner::plan_graph(*graph);
  CHECK_EQ(actors_of(plan),
           "main 0:; after main 2\n"
           "boxing 0: boxing_part; after main 0\n"
           "main 1: exp; after main 0 after boxing 0\n"
           "boxing 1: boxing_part; after boxing 0 after main 1\n"
           "main 2:; after main 1 after boxing 1\n");
}

// The verifier accepts whatever is planned, with boxings anywhere; it holds every address against the
// flights.
TEST(random_graphs) {
  planner::Random random(5);
  for (int round = 0; round < 300; round++) {
    auto graph = parsed(
        "graph \"random\" { input %0 \"x\" : float32[8, 4] variable %1 \"v\" : float32[8, 4] return }");
    std::vector<ir::Value> values{graph->inputs[0].value, graph->variables[0].value};
    int count = 4 + static_cast<int>(random.below(24)), boxings = 0;
    {
      ir::GraphEmitter emitter(*graph);
      ir::Emitter* before = ir::Emitter::swap_current(&emitter);
      auto any = [&]() -> const ir::Value& {
        size_t back = random.below(std::min<size_t>(values.size(), 6));
        return values[values.size() - 1 - back];
      };
      for (int i = 0; i < count; i++) {
        const ir::Value x = any();
        switch (random.below(6)) {
          case 0:
            values.push_back(ir::op<"add">(x, any()));
            break;
          case 1:
            values.push_back(ir::op<"exp">(x));
            break;
          case 2:
            values.push_back(ir::op<"flip">(x, IntList{0}));
            break;
          case 3:  // a view that must be copied where a boxing reads it
            values.push_back(ir::op<"reshape">(ir::op<"transpose">(ir::op<"reshape">(x, IntList{4, 8}), 0, 1),
                                               IntList{8, 4}));
            break;
          default: {
            ops::BoxingPartAttrs attrs{"cpu[0, 1] P(sum)", "cpu[0, 1] B", {8, 4},
                                       DType::kFloat32,    {0},           boxings++};
            const int starts[] = {0, 1};
            ir::Node& node = graph->append(ir::registry().get("boxing_part"), {&x, 1}, starts, &attrs);
            values.push_back(node.outputs[0]);
          }
        }
      }
      ir::Emitter::swap_current(before);
    }
    for (size_t i = 0; i < values.size(); i += 3) graph->outputs.push_back(values[values.size() - 1 - i]);
    if (random.below(2)) graph->assignments.push_back({0, values.back()});
    plan::Plan plan = planner::plan_graph(*graph);
    plan::check_plan(plan);
    int communications = 0;
    for (const plan::Actor& actor : plan.actors) communications += actor.kind == plan::ActorKind::kComm;
    CHECK_EQ(communications, boxings);
  }
}

// Two devices whose work is long enough run on a stream each, and meet where their sum is taken.
TEST(devices_have_streams_where_they_gain) {
  auto text = [](int size) {
    std::string type = cat("float32[", size, ", 64]");
    return cat(
        "graph \"g\" {\n  input %0 \"x@4\" : ", type, "\n  input %1 \"x@5\" : ", type,
        "\n  variable %2 \"v@4\" : ", type, "\n  variable %3 \"v@5\" : ", type, "\n  %4 = exp(%0) : ", type,
        "\n  %5 = exp(%1) : ", type,
        "\n  %6, %7 = boxing_part([%4, %5], source=\"cpu[4, 5] P(sum)\", target=\"cpu[4, 5] B\", size=[",
        size, ", 64], dtype=float32, ranks=[4, 5], order=0) : ", type, ", ", type,
        "\n  %8 = sub(%2, %6) : ", type, "\n  %9 = sub(%3, %7) : ", type,
        "\n  assign %2 = %8\n  assign %3 = %9\n  return\n}\n");
  };
  auto small = parsed(text(4)), large = parsed(text(4096));
  CHECK_EQ(actors_of(planner::plan_graph(*small, {}, 4)), "main: exp exp boxing_part sub sub;\n");
  plan::Plan plan = planner::plan_graph(*large, {}, 4);
  CHECK_EQ(actors_of(plan),
           "main 0:; after main 5\n"
           "main 1: exp; after main 0\n"
           "main 2: exp; after main 0\n"
           "boxing 0: boxing_part; after main 1 after main 2\n"
           "main 3: sub; after boxing 0\n"
           "main 4: sub; after boxing 0\n"
           "main 5:; after main 3 after main 4\n");
  CHECK_EQ(plan.devices, (std::vector<std::string>{"cpu", "cpu:1"}));
  CHECK_EQ(plan.streams.size(), 2u);
  CHECK_EQ(plan.actors[5].stream, 1);
  CHECK_EQ(plan.actors[5].commit, 0);
  plan::check_plan(plan);
}

// A branch that boxes waits for that: what comes before it is over, and nothing overtakes it.
TEST(control_flow_that_boxes_meets_in_its_turn) {
  constexpr std::string_view kBoxing =
      "source=\"cpu[0, 1] P(sum)\", target=\"cpu[0, 1] B\", size=[4], dtype=float32, ranks=[0]";
  auto graph = parsed(
      cat("graph \"g\" {\n  input %0 \"x\" : float32[4]\n  input %1 \"yes\" : bool[]\n",
          "  %2 = boxing_part([%0], ", kBoxing, ", order=0) : float32[4]\n", "  %3 = exp(%0) : float32[4]\n",
          "  %4 = cond(%1, [%3]) then {\n    input %0 \"\" : float32[4]\n    %1 = boxing_part([%0], ",
          kBoxing, ", order=1) : float32[4]\n    return %1\n  } else {\n",
          "    input %0 \"\" : float32[4]\n    return %0\n  } : float32[4]\n", "  %5 = boxing_part([%0], ",
          kBoxing, ", order=2) : float32[4]\n", "  return %2, %4, %5\n}\n"));
  plan::Plan plan = planner::plan_graph(*graph);
  CHECK_EQ(actors_of(plan),
           "main 0:; after main 3\n"
           "boxing 0: boxing_part; after main 0\n"
           "main 1: exp; after main 0\n"
           "main 2: cond; after boxing 0 after main 1\n"
           "boxing 2: boxing_part; after boxing 0 after main 2\n"
           "main 3:; after main 2 after boxing 2\n");
  CHECK_EQ(plan.regions.at(0).meets, 1);
  CHECK_EQ(plan.regions[0].bodies[0].actors.size(), 1u);
  plan::check_plan(plan);
  CHECK_EQ(plan::parse_plan(plan::print_plan(plan)), plan);
  plan.actors[4].reads = {1};
  CHECK_THROWS(Error, plan::check_meetings(plan), "processes may meet in another order");
}

// What a body boxes is posted as early as can be, and what does not read it runs beside it; where nothing
// does, the body stays one chain.
TEST(in_a_body_communications_go_on_beside_computing) {
  auto loop_over = [](const char* read) {
    return parsed(cat(R"ir(graph "g" {
  input %0 "x" : float32[4, 4]
  input %1 "rows" : float32[3, 2, 4]
  %2 = loop(None, None, [%0], [%1], [], length=3) body {
    input %0 "" : float32[4, 4]
    input %1 "" : float32[2, 4]
    %2 = boxing_part([%1], source="cpu[0, 1] S(0)", target="cpu[0, 1] B", size=[4, 4], dtype=float32, ranks=[0], order=0) : float32[4, 4]
    %3 = exp()ir",
                      read, R"ir() : float32[4, 4]
    %4 = mm(%3, %2) : float32[4, 4]
    return %4
  } : float32[4, 4]
  return %2
}
)ir"));
  };
  plan::Plan plan = planner::plan_graph(*loop_over("%0"));
  plan::check_plan(plan);
  CHECK_EQ(plan::parse_plan(plan::print_plan(plan)), plan);
  const plan::Plan& body = plan.regions.at(0).bodies[0];
  CHECK_EQ(actors_of(body),
           "main 0:; after main 2\n"
           "boxing 0: boxing_part; after main 0\n"
           "main 1: exp; after main 0\n"
           "main 2: mm; after boxing 0 after main 1\n");
  plan = planner::plan_graph(*loop_over("%2"));
  plan::check_plan(plan);
  CHECK_EQ(actors_of(plan.regions.at(0).bodies[0]), "main: boxing_part exp mm;\n");
}

// The same of bodies of loops, which write what they carry in place.
TEST(random_bodies) {
  planner::Random random(11);
  int beside = 0;
  for (int round = 0; round < 300; round++) {
    std::string text = R"ir(graph "random" {
  input %0 "x" : float32[8, 4]
  input %1 "rows" : float32[3, 8, 4]
  input %2 "k" : float32[8, 4]
  %3, %4 = loop(None, None, [%0], [%1], [%2], length=3) body {
    input %0 "" : float32[8, 4]
    input %1 "" : float32[8, 4]
    input %2 "" : float32[8, 4]
)ir";
    int values = 3, boxings = 0;
    std::vector<int> whole{0, 1, 2};  // values of the sizes that all ops take
    auto any = [&] {
      return cat("%", whole[whole.size() - 1 - random.below(std::min<size_t>(whole.size(), 6))]);
    };
    auto add = [&](const std::string& node, const char* sizes = "8, 4") {
      if (sizes == std::string_view("8, 4")) whole.push_back(values);
      text += cat("    %", values++, " = ", node, " : float32[", sizes, "]\n");
    };
    for (int i = 0, count = 3 + static_cast<int>(random.below(20)); i < count; i++) {
      switch (random.below(6)) {
        case 0:
          add(cat("add(", any(), ", ", any(), ")"));
          break;
        case 1:
          add(cat("exp(", any(), ")"));
          break;
        case 2:
          add(cat("flip(", any(), ", dims=[0])"));
          break;
        case 3:  // a view that must be copied where a boxing reads it
          add(cat("reshape(", any(), ", shape=[4, 8])"), "4, 8");
          add(cat("transpose(%", values - 1, ", dim0=0, dim1=1)"));
          break;
        default:
          add(cat("boxing_part([", any(),
                  "], source=\"cpu[0, 1] P(sum)\", target=\"cpu[0, 1] B\", size=[8, 4], dtype=float32, "
                  "ranks=[0], "
                  "order=",
                  boxings++, ")"));
      }
    }
    text += cat("    return ", any(), ", ", any(),
                "\n  } : float32[8, 4], float32[3, 8, 4]\n  return %3, %4\n}\n");
    plan::Plan plan = planner::plan_graph(*parsed(text));
    plan::check_plan(plan);
    int communications = 0;
    for (const plan::Actor& actor : plan.regions.at(0).bodies[0].actors)
      communications += actor.kind == plan::ActorKind::kComm;
    CHECK(communications == 0 || communications == boxings);
    beside += communications > 0;
  }
  CHECK_LT(100, beside);
}
