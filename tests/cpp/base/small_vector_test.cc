#include "base/small_vector.h"

#include <memory>

#include "test.h"

using tw::SmallVector;

TEST(it_grows_past_its_inline_room_and_back) {
  SmallVector<std::string, 2> list;
  for (int i = 0; i < 9; i++) list.push_back(std::to_string(i));
  CHECK_EQ(list.size(), size_t{9});
  CHECK_EQ(list[8], "8");
  list.erase(list.begin() + 3);
  CHECK_EQ(list[3], "4");
  list.insert(list.begin(), "first");
  CHECK_EQ(list.front(), "first");
  list.resize(1);
  CHECK_EQ(list.size(), size_t{1});
}

TEST(copies_and_moves_own_their_items) {
  auto counted = std::make_shared<int>(1);
  for (int count : {1, 5}) {  // inline and on the heap
    SmallVector<std::shared_ptr<int>, 2> a(count, counted);
    SmallVector<std::shared_ptr<int>, 2> b = a;
    SmallVector<std::shared_ptr<int>, 2> c = std::move(a);
    CHECK_EQ(counted.use_count(), 1 + 2 * count);
    CHECK(a.empty());
    b = c;
    c = std::move(b);
    CHECK_EQ(counted.use_count(), 1 + count);
  }
  CHECK_EQ(counted.use_count(), 1);
}
