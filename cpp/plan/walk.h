// One actor's firings of a step, followed launch by launch through memory.
#pragma once

#include <map>
#include <vector>

#include "plan/owners.h"
#include "plan/plan.h"

namespace tw::plan {

// What other actors have to know of an actor. Offsets are within the segment or the register's slot.
struct Footprint {
  struct Read {
    int value;
    int64_t begin, end;
  };
  std::map<int, Owners> registers;  // by register: what every slot holds when it is handed over
  std::map<int, Owners> bound;      // by segment: what it has left in variables and outputs
  std::map<int, Owners> scratch;    // by arena: bytes that it uses
  std::map<int, Owners> lasting;    // by arena: bytes that it needs from one firing to the next
  std::map<int, Owners> left;       // by arena: what it leaves there at the end of its last firing
  std::vector<Read> reads;          // of what it has not written itself, wherever it lies
};

// The number of the value that owns a value's bytes.
inline int root_of(const Plan& plan, int value) {
  int storage = plan.values[value].storage;
  return storage >= 0 ? storage : value;
}

// The actor that writes each value, itself or through views; -1: none. Throws kValue when two do.
std::vector<int> writers_of(const Plan& plan);

// Throws kValue, naming the launch, when it reads what is not there or writes what it may not.
Footprint walk(const Plan& plan, int actor, const std::vector<int>& writers);

}  // namespace tw::plan
