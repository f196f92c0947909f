// Every rule of the verifier, by a sample plan with one thing wrong.
#include "plan/check.h"

#include "plan/samples.h"
#include "plan/text.h"
#include "test.h"

namespace tw::test {
namespace {

using plan::check_plan;
using plan::Plan;

template <class Change>
void refuses(Plan plan, Change&& change, const char* reason, int line = __builtin_LINE()) {
  change(plan);
  try {
    check_plan(plan);
  } catch (const Error& error) {
    if (std::string_view(error.what()).find(reason) != std::string_view::npos) return;
    fail(__FILE__, line, std::string("wanted ") + reason + ", got " + error.what());
  }
  fail(__FILE__, line, std::string("accepted; wanted: ") + reason);
}

TEST(the_samples_are_accepted) {
  for (auto& [name, sample] : sample_plans()) check_plan(sample);
  check_plan(pipeline_plan(1));
}

TEST(structure) {
  refuses(chain_plan(), [](Plan& p) { p.version = 2; }, "version 1 is wanted, got 2");
  refuses(chain_plan(), [](Plan& p) { p.name = "a\nb"; }, "without control characters");
  refuses(
      chain_plan(), [](Plan& p) { p.segments[1].index = 1; },
      "there are 1 segments of kind input, got number 1");
  refuses(chain_plan(), [](Plan& p) { p.segments[4].index = 0; }, "two segments are output 0");
  refuses(chain_plan(), [](Plan& p) { p.segments[0].device = 1; }, "is on device 1 of 1");
  refuses(chain_plan(), [](Plan& p) { p.actors[0].stream = 1; }, "there is no stream 1");
  refuses(
      chain_plan(), [](Plan& p) { p.streams[0].kind = StreamKind::kHostInput; }, "does not run on a stream");
  refuses(chain_plan(), [](Plan& p) { p.actors[0].launches[0].op = "a b"; }, "the name of an op is wanted");
  refuses(chain_plan(), [](Plan& p) { p.actors[0].launches[0].inputs[0] = 99; }, "an input is value 99");
  refuses(chain_plan(), [](Plan& p) { p.actors[0].launches[0].starts = {0, 1}; }, "starts go from 0 to 2");
  refuses(chain_plan(), [](Plan& p) { p.actors[0].launches[0].module = 7; }, "there are no strings 7");
  refuses(chain_plan(), [](Plan& p) { p.actors[0].launches[1].draw = 3; }, "the step has 3 draws, got 3");
  refuses(micro_plan(), [](Plan& p) { p.actors[0].draws = 3; }, "the step has 8 draws, got 1");
  refuses(
      chain_plan(), [](Plan& p) { p.actors[0].launches[2].lifted[0].number = 1; }, "there is no number 1");
}

TEST(values_lie_inside_what_holds_them) {
  refuses(chain_plan(), [](Plan& p) { p.values[3].offset_bytes = 116; }, "ends outside its 128 bytes");
  refuses(chain_plan(), [](Plan& p) { p.values[3].offset_bytes = 2; }, "multiples of 4 are wanted");
  refuses(chain_plan(), [](Plan& p) { p.values[3].strides = {-2, 1}; }, "strides are never negative");
  refuses(chain_plan(), [](Plan& p) { p.values[3].sizes = {1 << 30, 1 << 30}; }, "ends outside");
  refuses(chain_plan(), [](Plan& p) { p.values[0].sizes = {2, 1}; }, "takes 12 bytes of a segment of 16");
  refuses(
      chain_plan(), [](Plan& p) { p.values[6].offset_bytes = 12; }, "ends outside value 5, which it shows");
  refuses(chain_plan(), [](Plan& p) { p.values[3].segment = -1; }, "one of them is wanted");
  refuses(pipeline_plan(), [](Plan& p) { p.values[4].offset_bytes = 52; }, "ends outside its 64 bytes");
  refuses(
      pipeline_plan(), [](Plan& p) { p.registers[0].slots = 17; }, "ends outside its segment of 1024 bytes");
  refuses(
      micro_plan(), [](Plan& p) { p.values[4].advance_bytes = 12; },
      "leaves value 0 when it advances by 12 3 times");
}

TEST(rates_and_writers) {
  refuses(
      micro_plan(), [](Plan& p) { p.actors[0].rate = 3; }, "is no multiple of the rate 4 of register 'h'");
  refuses(pipeline_plan(), [](Plan& p) { p.actors[1].reads.clear(); }, "has 1 writers and 0 readers");
  refuses(pipeline_plan(), [](Plan& p) { p.actors[1].writes = {0}; }, "has 2 writers and 1 readers");
}

TEST(deadlocks_are_found_and_explained) {
  refuses(
      micro_plan(), [](Plan& p) { p.registers[2].initial = 0; },
      "the step never ends: 'first' waits for data in 'go' from 'update'; 'second' waits for data in 'h' "
      "from "
      "'first'");
  // The first stage is to send twice before the second begins; one slot is too few.
  refuses(
      micro_plan(),
      [](Plan& p) {
        p.registers[0].rate = 2;
        p.registers.push_back({"late", -1, 0, 0, 1, 1, 0});
        p.actors[0].writes.push_back(3);
        p.actors[1].reads.push_back(3);
        p.registers[0].slots = 1;
      },
      "'first' waits for a free slot of 'h' (1 in all) from 'second'");
}

TEST(memory_within_an_actor) {
  // sum and noise in the same place
  refuses(
      chain_plan(), [](Plan& p) { p.values[4].offset_bytes = 0; },
      "value 3 is not, or no longer, in the memory");
  refuses(chain_plan(), [](Plan& p) { p.values[4].offset_bytes = 12; }, "value 3 is not, or no longer");
  // an input that is overwritten while it is read
  refuses(
      chain_plan(), [](Plan& p) { p.actors[0].launches[2].in_place = {}; },
      "written over value 3, which is read");
  refuses(chain_plan(), [](Plan& p) { p.values[5].offset_bytes = 8; }, "written over value 3");
  refuses(
      chain_plan(), [](Plan& p) { p.actors[0].launches[2].in_place = {1}; }, "does not take over the memory");
  refuses(
      chain_plan(), [](Plan& p) { std::swap(p.actors[0].launches[0], p.actors[0].launches[2]); },
      "value 3 is not, or no longer");
  refuses(
      chain_plan(), [](Plan& p) { p.actors[0].launches[1].outputs[0] = 0; },
      "inputs and constants are only read");
  refuses(
      chain_plan(), [](Plan& p) { p.actors[0].commit = -1; }, "a variable's and written before the commit");
  refuses(
      chain_plan(),
      [](Plan& p) {
        std::rotate(&p.actors[0].launches[0], &p.actors[0].launches[5], &p.actors[0].launches[6]);
        p.actors[0].commit = 0;
      },
      "value 1 is not, or no longer");  // w is read after it was assigned
  refuses(
      chain_plan(),
      [](Plan& p) {
        p.actors[0].launches.erase(p.actors[0].launches.begin() + 4);
        p.actors[0].commit = 4;
      },
      "output 1 is written up to byte 0 of 8");
  refuses(chain_plan(), [](Plan& p) { p.values[3].strides = {1, 1}; }, "");
  refuses(
      micro_plan(), [](Plan& p) { p.actors[1].launches[1].when = When::kLast; },
      "value 9 is not, or no longer");
}

TEST(memory_between_actors) {
  refuses(
      pipeline_plan(), [](Plan& p) { p.values[3].offset_bytes = 768; },
      "share bytes of segment 0 from 768 on");
  refuses(
      pipeline_plan(), [](Plan& p) { p.values[2].offset_bytes = 64; },
      "scratch of 'first' and register 'h' share bytes of segment 0 from 64 on");
  check_plan([] {  // one slot: the two stages are never in a firing at the same time
    Plan p = pipeline_plan(1);
    p.values[3].offset_bytes = 768;
    return p;
  }());
  refuses(
      pipeline_plan(), [](Plan& p) { p.actors[1].launches[0].inputs[0] = 2; },
      "reads value 2, and no register makes 'first' write it before that and not again");
  refuses(
      pipeline_plan(),
      [](Plan& p) {
        p.actors[0].launches[1].outputs[0] = 2;
        p.actors[0].launches[1].in_place = {0};
      },
      "which nobody writes");
  // what lasts from firing to firing is nobody else's scratch, even on the same stream
  refuses(
      micro_plan(),
      [](Plan& p) {
        p.values[8].offset_bytes = 136;
        p.actors[1].stream = 0;
      },
      "memory between firings of 'second'");
}

TEST(communications) {
  refuses(
      comm_plan(), [](Plan& p) { p.actors[1].stream = 0; },
      "a comm does not run on a stream of kind compute");
  refuses(
      comm_plan(), [](Plan& p) { p.actors[1].kind = ActorKind::kChain; },
      "does not run on a stream of kind comm");
  refuses(
      comm_plan(), [](Plan& p) { launch(p.actors[1], "meet", {0}, {3}); },
      "a communication is one launch a step");
  refuses(comm_plan(), [](Plan& p) { p.actors[1].commit = 0; }, "writes no variables");
  refuses(
      comm_plan(), [](Plan& p) { p.actors[1].launches[0].mutated = {0}; },
      "a communication has neither regions");
  refuses(
      comm_plan(), [](Plan& p) { p.actors[1].launches[0].in_place = {0}; },
      "does not write over what it reads");
}

TEST(communications_come_in_one_order) {
  auto apart = [](Plan& p) {
    p.actors[3].reads = {2};
    p.actors[4].reads = {2, 3, 1};
  };
  refuses(comm_plan(), apart, "no register makes 'meeting' end before 'another' begins: processes may meet");
  refuses(
      comm_plan(), [](Plan& p) { p.registers[1].slots = p.registers[4].slots = p.registers[4].initial = 2; },
      "no register makes 'another' end before 'meeting' begins");
}

TEST(arena_values_that_cross_between_actors) {
  refuses(
      comm_plan(), [](Plan& p) { p.actors[4].launches[0].inputs[0] = 6; }, "value 6 is not, or no longer");
  // 't' is written where 'meeting' still reads or writes
  refuses(comm_plan(), [](Plan& p) { p.values[4].offset_bytes = 0; }, "is written over value 2");
  refuses(comm_plan(), [](Plan& p) { p.values[4].offset_bytes = 64; }, "share bytes of segment 0 from 64 on");
  // 'sum' where 'after' still needs 'u'
  refuses(comm_plan(), [](Plan& p) { p.values[6].offset_bytes = 192; }, "value 5 is not, or no longer");
  // 'u' where 's' is still to be read; where 'a' was, nobody reads any more when it is written
  refuses(comm_plan(), [](Plan& p) { p.values[5].offset_bytes = 64; }, "share bytes of segment 0 from 64 on");
  check_plan([] {
    Plan p = comm_plan();
    p.values[5].offset_bytes = 0;
    p.values[6].offset_bytes = 64;
    p.actors[4].launches[0].in_place = {0};
    return p;
  }());
  // nobody makes 'beside' wait for 'before'
  refuses(
      comm_plan(), [](Plan& p) { p.actors[2].reads = {4}; },
      "'beside' reads value 2, and no register makes 'before' write it before that");
  refuses(comm_plan(), [](Plan& p) { p.actors[0].launches.clear(); }, "which nobody writes");
}

TEST(order_between_actors) {
  refuses(
      micro_plan(),
      [](Plan& p) {
        p.actors[0].reads.clear();
        p.actors[2].writes.clear();
        p.registers.pop_back();
      },
      "write the variable after that and before the next step");
  refuses(
      micro_plan(),
      [](Plan& p) {
        p.registers[2].slots = 2;
        p.registers[2].initial = 2;
      },
      "write the variable after that and before the next step");
  refuses(
      host_plan(),
      [](Plan& p) {
        p.values.push_back(p.values[0]);
        p.values.back().reg = -1;
        p.values.back().segment = 0;
        p.values.back().offset_bytes = 192;
        launch(p.actors[0], "load", {}, {3});
      },
      "a host input has no other memory");
}

}  // namespace
}  // namespace tw::test
