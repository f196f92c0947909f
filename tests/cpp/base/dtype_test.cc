#include "base/dtype.h"

#include "base/scalar.h"
#include "test.h"

using namespace tw;

TEST(promotion_follows_the_table) {
  CHECK(promote(DType::kUInt8, DType::kInt8) == DType::kInt16);
  CHECK(promote(DType::kFloat16, DType::kBFloat16) == DType::kFloat32);
  CHECK(promote(DType::kInt64, DType::kFloat16) == DType::kFloat16);
  CHECK(promote(DType::kComplex64, DType::kFloat64) == DType::kComplex128);
  CHECK(promote(DType::kBool, DType::kUInt8) == DType::kUInt8);
}

TEST(promotion_is_commutative_and_never_loses_kind) {
  for (int i = 0; i < kDTypeCount; i++)
    for (int j = 0; j < kDTypeCount; j++) {
      DType a = static_cast<DType>(i), b = static_cast<DType>(j), common = promote(a, b);
      CHECK(common == promote(b, a));
      CHECK(can_cast(a, common) || is_bool(a));
      CHECK(kind_of(common) == std::max(kind_of(a), kind_of(b)));
    }
}

TEST(names_parse_back) {
  for (int i = 0; i < kDTypeCount; i++) {
    DType parsed;
    CHECK(parse_dtype(name_of(static_cast<DType>(i)), &parsed));
    CHECK(parsed == static_cast<DType>(i));
  }
  DType none;
  CHECK(!parse_dtype("float8", &none));
}

TEST(scalars_keep_their_kind) {
  CHECK(Scalar(true).kind() == DTypeKind::kBool);
  CHECK_EQ(Scalar(int64_t{1} << 62).to_int(), int64_t{1} << 62);
  CHECK_EQ(Scalar(2.5).to<int64_t>(), 2);
  CHECK_EQ(static_cast<float>(Scalar(0.1).to<float16>()), 0.0999755859375f);
}
