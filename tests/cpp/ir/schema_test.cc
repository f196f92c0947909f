#include "ir/schema.h"

#include "base/error.h"
#include "test.h"

using namespace tw;
using namespace tw::ir;

TEST(a_schema_is_taken_apart) {
  Schema s = parse_schema(
      "topk(Tensor input, Tensor? mask, Tensor[] more, int k, int[2] size=1, *, float eps=1e-05, str "
      "mode=\"a b\", "
      "Scalar? fill=None) -> (Tensor values, Tensor indices)");
  CHECK_EQ(s.name, "topk");
  CHECK_EQ(s.params.size(), size_t{8});
  CHECK_EQ(s.tensor_count, 3);
  CHECK(s.has_lists);
  CHECK(s.params[1].optional && s.params[1].kind == ParamKind::kTensor);
  CHECK(!s.params[3].has_default && s.params[3].attr_kind == AttrKind::kInt);
  CHECK_EQ(s.params[4].repeat, 2);
  CHECK(s.params[5].keyword_only);
  CHECK_EQ(std::get<double>(s.params[5].default_value), 1e-5);
  CHECK_EQ(std::get<std::string>(s.params[6].default_value), "a b");
  CHECK(std::holds_alternative<std::monostate>(s.params[7].default_value));
  CHECK_EQ(s.outputs, (std::vector<std::string>{"values", "indices"}));
}

TEST(hidden_parameters_are_not_in_the_text) {
  Schema s =
      parse_schema("mean(Tensor input, *, dtype? dtype=None, int? _count=None, float[] _part=[]) -> Tensor");
  CHECK_EQ(s.text, "mean(Tensor input, *, dtype? dtype=None) -> Tensor");
  CHECK_EQ(s.params.size(), size_t{4});
  CHECK(s.params[2].keyword_only && s.params[2].name == "_count");
  CHECK_EQ(parse_schema("f(Tensor x, *, int _n=0) -> (Tensor a, Tensor b)").text,
           "f(Tensor x) -> (Tensor a, Tensor b)");
}

TEST(malformed_schemas_are_refused) {
  CHECK_THROWS(Error, parse_schema("f(Tensor) -> Tensor"), "a name is wanted");
  CHECK_THROWS(Error, parse_schema("f(quux x) -> Tensor"), "a type is wanted");
  CHECK_THROWS(Error, parse_schema("f(Tensor x"), "wanted");
}
