#include <algorithm>
#include <cstring>

#include "plan/fields.h"
#include "plan/text.h"

namespace tw::plan {

namespace {

// A 64-bit digest of words: against accidents, not against people.
class Digest {
 public:
  uint64_t value() const { return state_ ? state_ : 1; }

  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void add(T word) {
    state_ = (state_ ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15;
    state_ ^= state_ >> 32;
  }
  void add(const std::string& text) {
    add(text.size());
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
      add(word);
    }
  }
  void add(const Lifted& lifted) {
    add(lifted.param);
    add(lifted.item);
    add(lifted.number);
  }
  template <class List>
    requires requires(const List& list) { list[0]; } && (!std::is_same_v<List, std::string>)
  void add(const List& list) {
    add(list.size());
    for (const auto& item : list) add(item);
  }
  template <class T>
  void add_fields(const T& item) {
    fields_of<T>([&](const char*, auto member) { add(item.*member); });
  }
  template <class T>
  void add_items(const std::vector<T>& items) {
    add(items.size());
    for (const T& item : items) add_fields(item);
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

uint64_t seal_of(const Plan& plan) {
  Digest digest;
  digest.add_fields(plan);
  digest.add(plan.devices);
  digest.add(plan.strings);
  digest.add(plan.numbers);
  digest.add_items(plan.segments);
  digest.add_items(plan.streams);
  digest.add_items(plan.registers);
  digest.add_items(plan.values);
  digest.add_items(plan.regions);
  for (const Region& region : plan.regions)
    for (const Plan& body : region.bodies) digest.add(seal_of(body));
  digest.add_items(plan.actors);
  for (const Actor& actor : plan.actors) digest.add_items(actor.launches);
  return digest.value();
}

}  // namespace tw::plan
