// The plan: what one rank does in a step, as plain data. The planner makes it from a graph; the runtime runs
// it; text.h prints and parses it; check.h proves that it neither deadlocks nor overwrites what is still
// needed.
//
// Things refer to each other by their index in the plan's lists; -1 is none. A step fires every actor `rate`
// times. An actor fires when every register it reads holds data and every register it writes has a free slot;
// actors of one stream fire one at a time. Firings are counted from 0 and over all steps, so that firing f of
// an actor belongs to step f / rate and is number f % rate in it, its *phase*.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dims.h"
#include "base/dtype.h"

namespace tw::plan {

inline constexpr int kPlanVersion = 1;

// Arenas are allocated once, with the executable. The others are bound in every run; outputs are fresh memory
// that the caller supplies.
enum class SegmentKind : uint8_t { kArena, kInput, kVariable, kConstant, kOutput };

struct Segment {
  SegmentKind kind = SegmentKind::kArena;
  int index = 0;  // among those of its kind
  int64_t size_bytes = 0;
  int device = 0;
  bool operator==(const Segment&) const = default;
};

// An array in memory: in a segment, or in a register, where its address is that of the slot the firing uses
// plus `offset_bytes`. What one actor leaves in an arena others of rate 1 may read in the same step, where
// registers see to it that they come in between. Values of the graph that share memory as views have their
// own entry each, which names in `storage` the value whose bytes they are.
struct Value {
  int segment = -1;          // exactly one of these two is given
  int reg = -1;              // a register
  int64_t offset_bytes = 0;  // of the first element
  int64_t advance_bytes =
      0;  // times the phase is added: part i of a batch that is taken in parts (segments only)
  DType dtype = DType::kFloat32;
  Dims sizes, strides;  // strides count elements
  int storage = -1;     // the value that owns the bytes; -1: this one does
  bool operator==(const Value&) const = default;
};

// A number of a launch's attributes that is given anew in every run, as ir::Lifted.
struct Lifted {
  int param = 0;   // index into the parameters of the op's schema
  int item = -1;   // of a list; -1: the attribute itself
  int number = 0;  // index into Plan::numbers
  bool operator==(const Lifted&) const = default;
};

// In which firings of a step a launch runs: a sum over the parts of a batch is cleared in the first.
enum class When : uint8_t { kAlways, kFirst, kLast };

struct Launch {
  std::string op;
  std::string attrs;         // in the syntax of the IR's text; the runtime only hands it on
  std::vector<int> inputs;   // values, flattened over lists; -1 where an optional one is absent
  std::vector<int> starts;   // as KernelContext::input_starts; empty for ops without lists
  std::vector<int> outputs;  // values; -1 where the op may leave one out
  std::vector<int> mutated;  // positions in `inputs` of those that the kernel writes too
  std::vector<int> becomes;  // the value that mutated input i is afterwards; -1: the same; may be shorter
  std::vector<int>
      in_place;  // positions in `inputs` whose memory output i takes over; -1 none; may be shorter
  When when = When::kAlways;
  int64_t draw = -1;  // number of a random op's draw in the run
  std::vector<Lifted> lifted;
  int module = 0;  // path of the module and the user's line: into Plan::strings
  int origin = 0;
  int node = -1;    // its number in the graph
  int region = -1;  // of Plan::regions: control flow, which runs plans of its own
  bool operator==(const Launch&) const = default;
};

// Memory that carries values from the actor that writes it to those that read it. In a step it takes `rate`
// tokens, each in a slot of its own, one after the other; the number of slots is the credit. An actor of n
// times the rate fills or reads the same slot in n firings in a row, and hands it on in the last of them.
struct Register {
  std::string name;
  int segment = -1;  // an arena; -1 when there are no bytes: the register only orders
  int64_t offset_bytes = 0;
  int64_t slot_bytes = 0;
  int slots = 1;
  int rate = 1;
  int initial = 0;  // tokens that are there before the first step; only without bytes
  bool operator==(const Register&) const = default;
};

// What an actor does and where: `kHostCall` may wait and take locks, so it has a thread of its own;
// `kHostInput` too, and it fires ahead of the steps that were asked for, as far as credit lets it (reading
// data), so it touches registers only. A chain never waits, but for other processes in a region that they
// meet in. `kComm` begins its one launch when it fires, and the firing ends when that is complete, some time
// later: nobody waits but those that read its registers.
enum class ActorKind : uint8_t { kChain, kHostCall, kHostInput, kComm };

struct Actor {
  std::string name;
  ActorKind kind = ActorKind::kChain;
  int stream = 0;
  int rate = 1;
  std::vector<int> reads;   // registers
  std::vector<int> writes;  // registers; each has one writer
  int64_t draws = 0;        // by how much the draws of one firing are above those of the firing before
  int commit = -1;          // the first launch that may write variables; -1: none does
  std::vector<Launch> launches;
  bool operator==(const Actor&) const = default;
};

// Chains run on compute and copy streams, communication on comm, host calls on host_output, host inputs on
// host_input.
enum class StreamKind : uint8_t { kCompute, kHostInput, kHostOutput, kCopy, kComm };

struct Stream {
  StreamKind kind = StreamKind::kCompute;
  int device = 0;
  bool operator==(const Stream&) const = default;
};

struct Plan;

enum class RegionKind : uint8_t { kCond, kLoop };

// What a launch of control flow runs: one of two plans, or one again and again. Each is one chain, or chains
// of one stream with communications beside them, whose segments are bound to the operands of the launch; its
// arenas, one a device, are the last outputs, memory for the launch alone. The first inputs are the predicate
// and, of loops, the number of trips.
//
// Of a cond, the other inputs and outputs are those of both plans. Of a loop, carried values are variables of
// its plan, which lie in the first outputs; slices and captures are its inputs. Its outputs are whether it
// goes on (where there is a predicate) and the parts of the stacked outputs, which follow the carried ones.
struct Region {
  RegionKind kind = RegionKind::kCond;
  int carried = 0;      // values of a loop
  int slices = 0;       // inputs of which iteration i reads part i
  int64_t length = -1;  // at most so many iterations; -1: no bound
  int reverse = 0;      // 1: from the last part to the first
  int parts = 0;        // 1: of a batch; see ir/control.h. What its plan draws, each iteration draws
  int meets = 0;        // 1: processes meet in it; the launch waits for that
  std::vector<Plan> bodies;
  bool operator==(const Region& other) const;
};

struct Plan {
  int version = kPlanVersion;
  std::string name = "graph";
  int64_t draws = 0;              // random draws that a step takes from the generator
  int64_t lower_bound_bytes = 0;  // peak of the bytes that are live at once: no arena can be smaller
  std::vector<std::string> devices;
  std::vector<std::string> strings;  // module paths and origins; number 0 is the empty text
  std::vector<std::string> numbers;  // names of the Python numbers that are given in every run
  std::vector<Segment> segments;
  std::vector<Stream> streams;
  std::vector<Register> registers;
  std::vector<Value> values;
  std::vector<Region> regions;
  std::vector<Actor> actors;
  // Set by seal() in text.h: any change of the plan after that is refused by check_plan. 0: not sealed.
  uint64_t seal = 0;
  bool operator==(const Plan&) const = default;
};

// A random number drawn in a region: how many draws a run takes is known when it is done, other than of parts
// of a batch. Such a launch counts as one draw, and what follows it, by the numbers of draws, moves by what
// else it took.
bool has_open_draws(const Plan& plan);
bool has_open_draws(const Plan& plan, const Launch& launch);
// How many of the plan's draws a launch of control flow takes.
int64_t draws_of(const Plan& plan, const Launch& launch);

// Bytes from a value's first element to the end of its last; 0 when it has no elements. Throws kValue on
// sizes that overflow or negative strides.
int64_t span_bytes(const Value& value);

}  // namespace tw::plan
