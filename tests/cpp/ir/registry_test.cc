#include "ir/registry.h"

#include "test.h"

using namespace tw;
using namespace tw::ir;

namespace {

struct ScaleAttrs {
  double factor;
  std::optional<IntList> dims;
};

}  // namespace

TEST(an_op_gets_its_defaults_from_the_schema) {
  OpRegistry registry;
  registry.op("scale(Tensor input, float factor=2.5, int[]? dims=None) -> Tensor", &ScaleAttrs::factor,
              &ScaleAttrs::dims);
  const OpDef& def = registry.get("scale");
  const auto& defaults = *static_cast<const ScaleAttrs*>(def.defaults());
  CHECK_EQ(defaults.factor, 2.5);
  CHECK(!defaults.dims);
  AttrBox box(def.attr_type, def.defaults());
  write_attr(def.schema.params[2].field, box.get(), IntList{1, 2}, "scale", "dims");
  CHECK_EQ(attr_text(read_attr(def.schema.params[2].field, box.get())), "[1, 2]");
  CHECK_THROWS(Error, write_attr(def.schema.params[1].field, box.get(), std::string("x"), "scale", "factor"),
               "scale: factor has the wrong type");
}

TEST(mistakes_in_definitions_are_found_at_once) {
  OpRegistry registry;
  CHECK_THROWS(Error, registry.op("a(Tensor x, int n) -> Tensor"), "no struct member is given for n");
  CHECK_THROWS(Error, registry.op("b(Tensor x, int n) -> Tensor", &ScaleAttrs::factor), "another type");
  registry.op("c(Tensor x) -> Tensor");
  CHECK_THROWS(Error, registry.op("c(Tensor x) -> Tensor"), "defined twice");
  CHECK_THROWS(Error, registry.op("d(Tensor x) -> Tensor").grad("y", nullptr), "saves y");
}
