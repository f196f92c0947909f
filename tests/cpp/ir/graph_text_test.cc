#include "ir/graph_text.h"

#include <bit>
#include <limits>
#include <random>

#include "ir/attr_parse.h"
#include "ir/graph_texts.h"
#include "ir/verify.h"
#include "test.h"

using namespace tw;
using namespace tw::ir;
using tw::test::kEverything;
using tw::test::parsed;

namespace {

// A graph around one node or leaf of interest.
std::string with(const std::string& lines) {
  return "graph \"g\" {\n  input %0 \"x\" : float32[2, 3]\n  number $0 \"n\"\n" + lines + "\n  return\n}\n";
}

void check_refused(const std::string& text, std::string_view message) {
  try {
    parsed(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kValue);
  }
  CHECK_THROWS(Error, parsed(text), message);
}

// What a parameter of this type prints and reads back.
AttrValue through_text(AttrKind kind, const AttrValue& value) {
  Param param;
  param.name = "p";
  param.attr_kind = kind;
  param.optional = true;
  std::string text;
  print_attr(text, value);
  TextLexer lexer(text);
  std::vector<LiftedItem> lifted;
  AttrValue read = parse_attr(lexer, param, &lifted);
  CHECK(lexer.peek().kind == TokenKind::kEnd);
  CHECK(same_attr(read, value));
  CHECK_EQ(hash_attr(read), hash_attr(value));
  return read;
}

}  // namespace

TEST(a_printed_graph_parses_back_to_the_same_text) {
  auto graph = parsed(kEverything);
  CHECK_EQ(print_graph(*graph), kEverything);
  verify(*graph);
}

TEST(a_graph_of_a_device_says_so) {
  const std::string text = "graph \"g\" on \"cuda:1\" {\n  return\n}\n";
  auto graph = parsed(text);
  CHECK_EQ(graph->device, "cuda:1");
  CHECK_EQ(print_graph(*graph), text);
  CHECK_EQ(parsed("graph \"g\" on \"cpu\" { return }")->device, "cpu");
  check_refused("graph \"g\" on cuda:1 { return }", "the name of a device");
}

TEST(parsing_fills_the_graph_in) {
  auto graph = parsed(kEverything);
  CHECK_EQ(graph->name, "step");
  CHECK_EQ(graph->inputs[1].name, "index");
  CHECK_EQ(graph->numbers[1], "step");
  const Node& transpose = *graph->nodes[0];
  CHECK_EQ(graph->strings[transpose.module], "fc");
  CHECK_EQ(graph->strings[transpose.origin], "train.py:12");
  CHECK(transpose.inputs[0] == Value(graph->variables[0].value));
  CHECK_EQ(draw_of(*graph->nodes[1]), 3);
  const Node& linear = *graph->nodes[2];
  CHECK_EQ(graph->strings[linear.origin], std::string("odd \"path\" \\ é\0\n\xff.py:3", 23));
  CHECK(!linear.inputs[2]);
  const Node& adam = *graph->nodes[17];
  CHECK_EQ(adam.def->schema.name, "adam_step");
  CHECK_EQ(adam.starts, (SmallVector<int, 4>{0, 1, 2, 3, 4, 4}));
  CHECK_EQ(adam.lifted.size(), 2);
  CHECK_EQ(adam.lifted[0].item, 0);
  CHECK_EQ(adam.lifted[0].number, 1);
  CHECK_EQ(adam.def->schema.params[adam.lifted[1].param].name, "weight_decay");
  CHECK_EQ(graph->assignments[1].variable, 1);
  CHECK_EQ(graph->draws, 4);
}

TEST(numbers_may_stand_in_any_order_and_comments_are_dropped) {
  auto graph = parsed(R"(# a comment
graph "g" { number $7 "lr" variable %9 "v" : float32[]
  input %3 "x" : float32[2]  # another
  %100 = clamp(%3, None, %9) : float32[2] assign %9 = %9 return %100, %3 })");
  CHECK_EQ(print_graph(*graph), R"(graph "g" {
  input %0 "x" : float32[2]
  variable %1 "v" : float32[]
  number $0 "lr"
  %2 = clamp(%0, None, %1) : float32[2]
  assign %1 = %1
  return %2, %0
}
)");
}

TEST(attributes_keep_every_bit) {
  std::mt19937_64 random(7);
  using Limits = std::numeric_limits<double>;
  std::vector<double> doubles = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.5,
                                 1e22,
                                 1e-5,
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 Limits::denorm_min(),
                                 Limits::max(),
                                 Limits::lowest()};
  while (doubles.size() < 500) doubles.push_back(std::bit_cast<double>(random()));
  for (double a : doubles) {
    CHECK_EQ(through_text(AttrKind::kFloat, a).index(), AttrValue(a).index());
    CHECK(std::get<Scalar>(through_text(AttrKind::kScalar, Scalar(a))).kind() == DTypeKind::kFloat);
    double b = doubles[random() % doubles.size()];
    through_text(AttrKind::kFloatList, FloatList{a, b});
    Scalar pair = std::get<Scalar>(through_text(AttrKind::kScalar, Scalar(complex128(a, b))));
    CHECK(pair.kind() == DTypeKind::kComplex);
  }
  for (int i = 0; i < 200; i++) {
    auto n = static_cast<int64_t>(random()) >> (random() % 64);
    through_text(AttrKind::kInt, n);
    CHECK(std::get<Scalar>(through_text(AttrKind::kScalar, Scalar(n))).kind() == DTypeKind::kInt);
    through_text(AttrKind::kIntList, IntList{n, -n, 0});
  }
  through_text(AttrKind::kIntList, IntList{});
  through_text(AttrKind::kInt, std::numeric_limits<int64_t>::min());
  for (bool flag : {false, true}) {
    through_text(AttrKind::kBool, flag);
    CHECK(std::get<Scalar>(through_text(AttrKind::kScalar, Scalar(flag))).kind() == DTypeKind::kBool);
  }
  for (int i = 0; i < kDTypeCount; i++) through_text(AttrKind::kDType, static_cast<DType>(i));
  for (AttrKind kind : {AttrKind::kInt, AttrKind::kString, AttrKind::kDType, AttrKind::kIntList})
    CHECK(std::holds_alternative<std::monostate>(through_text(kind, std::monostate())));
}

TEST(strings_keep_every_byte) {
  std::mt19937_64 random(8);
  std::vector<std::string> texts = {
      "", "None", "\"", "\\", "\\x41", "é€😀", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
  for (int i = 0; i < 300; i++) {
    std::string text;
    for (size_t length = random() % 12; text.size() < length;)
      text += static_cast<char>(random() % 3 ? random() : "é\"\\xn"[random() % 6]);
    texts.push_back(text);
  }
  for (const std::string& text : texts) through_text(AttrKind::kString, text);
  std::string out;
  print_string(out, "é\n\xc3z\x7f");
  CHECK_EQ(out, R"("é\n\xc3z\x7f")");
}

TEST(minus_zero_and_nan_are_told_apart) {
  CHECK(!same_attr(0.0, -0.0));
  CHECK(same_attr(std::nan("1"), std::nan("2")));
  CHECK(!same_attr(Scalar(1), Scalar(1.0)));
  CHECK(!same_attr(Scalar(true), Scalar(1)));
  CHECK(!same_attr(Scalar(complex128(1, 0)), Scalar(complex128(1, -0.0))));
}

TEST(errors_say_where_and_what) {
  check_refused("", "line 1, column 1: \"graph\" is wanted, got the end");
  check_refused("graph {", "line 1, column 7: the name of the graph is wanted, got \"{\"");
  check_refused(with("  %1 = foo(%0) : float32[2]"), "line 4, column 8: an op is wanted, got \"foo\"");
  check_refused(with("  %1 = matmul(%0) : float32[2]"), "an op that is not written with others is wanted");
  check_refused(with("  %1 = neg(%0 : float32[2, 3]"), "column 15: \",\" or \")\" is wanted, got \":\"");
  check_refused(with("  %1 = neg(%2) : float32[2, 3]"), "a value defined before is wanted, got \"%2\"");
  check_refused(with("  %0 = neg(%0) : float32[2, 3]"),
                "a value that is not defined yet is wanted, got \"%0\"");
  check_refused(with("  %1 = neg(None) : float32[2, 3]"), "a value (%0) for input is wanted, got \"None\"");
  check_refused(with("  %1 = cat(%0) : float32[2, 3]"), "a list for tensors is wanted, got \"%0\"");
  check_refused(with("  %1 = add(%0, %0, alpha=x) : float32[2, 3]"),
                "a number for alpha is wanted, got \"x\"");
  check_refused(with("  %1 = add(%0, %0, beta=1) : float32[2, 3]"),
                "an attribute of add is wanted, got \"beta\"");
  check_refused(with("  %1 = add(%0, %0, alpha=1, alpha=1) : float32[2, 3]"),
                "another attribute of add is wanted");
  check_refused(with("  %1 = transpose(%0, dim0=1) : float32[3, 2]"),
                "dim1=, which transpose has no default for, is wanted, got \")\"");
  check_refused(with("  %1 = transpose(%0, dim0=1.5, dim1=0) : float32[3, 2]"), "an int for dim0 is wanted");
  check_refused(with("  %1 = transpose(%0, dim0=$1, dim1=0) : float32[3, 2]"), "$1 defined before is wanted");
  check_refused(with("  %1 = cast(%0, dtype=half) : float16[2, 3]"),
                "a dtype for dtype is wanted, got \"half\"");
  check_refused(with("  %1 = gelu(%0, approximate=\"a\\q\") : float32[2, 3]"), "after each backslash");
  check_refused(with("  %1 = gelu(%0, approximate=\"a) : float32[2, 3]"), "closing quote");
  check_refused(with("  %1 = full(size=[1], fill_value=1e999) : float32[1]"), "a number for fill_value");
  check_refused(with("  %1, %2 = dropout_of(%0) : float32[2, 3], bool[2, 3]"), "\"draw\"");
  check_refused(with("  %1 = dropout_of(%0) draw 0 : float32[2, 3]"), "dropout_of has 2 outputs, got 1");
  check_refused(with("  input %1 \"y\" : float32[-1]"), "a size, not below 0, is wanted, got \"-1\"");
  check_refused(with("  input %1 \"y\" : float32[4294967296, 4294967296]"),
                "line 4, column 18: the number of elements");
  check_refused(with("  assign %0 = %0"), "a variable is wanted, got \"%0\"");
  check_refused(with("  %99999999999 = neg(%0) : float32[2, 3]"), "a number below 2147483648");
  check_refused(with("  input %1 \"y\" : float64[2305843009213693952]"), "the number of bytes overflows");
  check_refused(with("") + "graph", "the end is wanted, got \"graph\"");
}

TEST(lifted_numbers_keep_the_value_that_inference_saw) {
  auto graph = parsed(R"(graph "g" {
  input %0 "p" : float32[2]
  number $0 "momentum"
  %1 = sgd_step([%0], [%0], [], fresh=[], lr=0.1, momentum=$0:0.0, dampening=0.0, weight_decay=$0, nesterov=False, maximize=False) : float32[2]
  return
}
)");
  const Node& node = *graph->nodes[0];
  auto value = [&](int param) { return read_attr(node.def->schema.params[param].field, node.attrs.get()); };
  CHECK_EQ(std::get<double>(value(5)), 0.0);
  CHECK_EQ(std::get<double>(value(7)), 1.0);
  check_refused(with("  %1 = leaky_relu(%0, negative_slope=$0:) : float32[2, 3]"),
                "a float for negative_slope");
  check_refused(with("  %1 = leaky_relu(%0, negative_slope=$0:$0) : float32[2, 3]"),
                "a float for negative_slope");
}

TEST(inference_must_agree_with_the_stated_types) {
  check_refused(with("\n  %1 = neg(%0) : float32[3, 2]"),
                "line 5, column 18: %1 is float32[2, 3] by inference, but is said to be float32[3, 2]");
  check_refused(with("  %1, %2 = max_dim(%0, dim=1) : float32[2], float32[2]"),
                "%2 is int64[2] by inference, but is said to be float32[2]");
  check_refused(with("  %1 = transpose(%0, dim0=0, dim1=2) : float32[2, 3]"),
                "line 4, column 8: transpose: dim");
}

// Whatever the text, there is a graph that prints and parses on, or an error that says what is wrong.
TEST(no_text_breaks_the_parser) {
  std::mt19937_64 random(9);
  const std::string original = kEverything;
  int accepted = 0;
  for (int round = 0; round < 6000; round++) {
    std::string text = original;
    for (size_t edits = 1 + random() % 3; edits > 0; edits--) {
      size_t at = random() % text.size(), length = std::min<size_t>(1 + random() % 12, text.size() - at);
      switch (random() % 4) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(random() % text.size(), text.substr(at, length));
          break;
        case 2:
          text[at] = static_cast<char>(random());
          break;
        default:
          text[at] = "%$\"[](){}=,:-.0123456789eNT \n"[random() % 29];
      }
      if (text.empty()) text.push_back('g');
    }
    try {
      auto graph = parsed(text);
      std::string printed = print_graph(*graph);
      CHECK_EQ(print_graph(*parsed(printed)), printed);
      accepted++;
      verify(*graph);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kValue && error.kind() != ErrorKind::kInternal)
        CHECK_EQ(text, error.what());
    }
  }
  CHECK_GT(accepted, 100);
}
