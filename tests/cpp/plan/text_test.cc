// The text form: exact round trips, and errors that name the line.
#include "plan/text.h"

#include <random>

#include "plan/check.h"
#include "plan/samples.h"
#include "test.h"

namespace tw::test {
namespace {

using plan::parse_plan;
using plan::print_plan;

TEST(a_printed_plan_parses_to_an_equal_one_and_prints_the_same_bytes) {
  for (auto& [name, sample] : sample_plans()) {
    for (bool sealed : {false, true}) {
      if (sealed) plan::seal(&sample);
      std::string text = print_plan(sample);
      plan::Plan parsed = parse_plan(text);
      CHECK(parsed == sample);
      CHECK_EQ(print_plan(parsed), text);
    }
  }
}

TEST(the_text_of_a_plan) {
  PlanBuilder b;
  b.stream();
  int arena = b.segment(SegmentKind::kArena, 64);
  int v = b.value(arena, 0, {2, 8});
  b.plan.strings.push_back("layers.\"0\"\n\x01\\é");
  launch(b.actor("step"), "fill", {}, {v}, "1.5").lifted = {{1, -1, 0}, {2, 3, 4}};
  CHECK_EQ(print_plan(b.plan),
           "plan version=1\n"
           "device 0 \"cpu\"\n"
           "string 0 \"\"\n"
           "string 1 \"layers.\\\"0\\\"\\n\\x01\\\\é\"\n"
           "segment 0 size_bytes=64\n"
           "stream 0\n"
           "value 0 segment=0 sizes=[2, 8] strides=[8, 1]\n"
           "actor 0 name=\"step\"\n"
           "  launch op=\"fill\" attrs=\"1.5\" outputs=[0] lifted=[(1, -1, 0), (2, 3, 4)] node=0\n");
  CHECK(parse_plan(print_plan(b.plan)) == b.plan);
}

TEST(errors_name_the_line) {
  CHECK_THROWS(Error, parse_plan(""), "plan text: empty");
  CHECK_THROWS(Error, parse_plan("stream 0\n"), "line 1: the first line is 'plan version=...', got 'stream'");
  std::string head = "# a comment\n\nplan version=1\n";
  auto refuses = [&](const char* line, const char* reason) {
    CHECK_THROWS(Error, parse_plan(head + line), reason);
  };
  refuses("segment 0 size_bytes=x", "line 4: a number of 8 bytes is wanted, got 'x'");
  refuses("segment 0 size_bytes=99999999999999999999", "a number of 8 bytes is wanted");
  refuses("stream 0 device=3000000000", "a number of 4 bytes is wanted");
  refuses("segment 1", "number 0 is wanted here, got 1");
  refuses("stream 0 kind=fast",
          "one of [compute, host_input, host_output, copy, comm] is wanted, got 'fast'");
  refuses("stream 0 device=1 kind=copy", "unknown, repeated or out of order: 'kind=copy'");
  refuses("stream 0 device=1 device=2", "unknown, repeated or out of order: 'device=2'");
  refuses("value 0 dtype=float31", "a dtype is wanted, got 'float31'");
  refuses("value 0 sizes=[1 2]", "']' is wanted, got ' 2]'");
  refuses("string 0 \"abc", "a text has no end");
  refuses("string 0 \"\\q\"", "an unknown escape in a text");
  refuses("launch op=\"f\"", "a launch without an actor");
  refuses("value 0\nsegment 0\n", "line 5: this kind of line comes earlier");
  refuses("plan version=1", "a second plan");
  refuses("seal 0x0", "a seal is not 0");
  refuses("seal 0x12\nstream 0", "nothing follows the seal");
  refuses("gibberish", "unknown: 'gibberish'");
}

TEST(a_sealed_plan_is_refused_after_any_change) {
  plan::Plan plan = chain_plan();
  plan::seal(&plan);
  plan::check_plan(plan);
  plan.actors[0].launches[0].op = "mul";
  CHECK_THROWS(Error, plan::check_plan(plan), "it was changed after it was sealed");
}

// Whatever the bytes: an error, or a plan that prints and can be checked.
TEST(garbage_is_an_error) {
  std::mt19937 random(1);
  std::vector<std::string> texts;
  for (auto& [name, sample] : sample_plans()) texts.push_back(print_plan(sample));
  int parsed = 0, accepted = 0;
  for (int i = 0; i < 4000; i++) {
    std::string text = texts[random() % texts.size()];
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; changes--) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 20);
      else if (random() % 2)
        text[at] = "0123456789-=[](),\"\\ \nax"[random() % 24];
      else
        text.insert(at, text.substr(random() % text.size(), random() % 30));
      if (text.empty()) text = "x";
    }
    try {
      plan::Plan plan = parse_plan(text);
      parsed++;
      CHECK(parse_plan(print_plan(plan)) == plan);
      plan::check_plan(plan);
      accepted++;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kValue);
    }
  }
  CHECK_GT(parsed, 50);
  CHECK_GT(accepted, 5);
}

}  // namespace
}  // namespace tw::test
