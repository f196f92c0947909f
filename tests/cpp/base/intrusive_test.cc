#include "base/intrusive.h"

#include "test.h"

namespace tw {

namespace {

struct Counted : RefCounted {
  explicit Counted(int* alive) : alive(alive) { ++*alive; }
  ~Counted() override { --*alive; }
  int* alive;
};

// Keeps itself alive until it is told to let go.
struct Selfish : Counted {
  explicit Selfish(int* alive) : Counted(alive), self(this) {}
  Ref<Selfish> self;
};

}  // namespace

TEST(references_keep_an_object_and_the_last_ends_it) {
  int alive = 0;
  auto first = make_ref<Counted>(&alive);
  CHECK_EQ(first->use_count(), 1u);
  Ref<Counted> second = first, moved = std::move(first);
  CHECK_EQ(second->use_count(), 2u);
  second = nullptr;
  CHECK_EQ(moved->use_count(), 1u);
  CHECK_EQ(alive, 1);
  Counted* released = moved.release();
  CHECK_EQ(alive, 1);
  Ref<Counted>::adopt(released) = nullptr;
  CHECK_EQ(alive, 0);
}

TEST(a_constructor_may_take_a_reference) {
  int alive = 0;
  auto object = make_ref<Selfish>(&alive);
  CHECK_EQ(object->use_count(), 2u);
  Selfish* kept = object.get();
  object = nullptr;
  CHECK_EQ(alive, 1);
  kept->self = nullptr;
  CHECK_EQ(alive, 0);
}

}  // namespace tw
