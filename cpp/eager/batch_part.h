// While a function runs on the parts of a batch in turn, random ops draw for each part what they would draw
// for it as a part of the whole: all parts take the same draws, and a tensor's elements the words that they
// have in the whole. A tensor is part of a larger one where its first dim is the part's batch, or a multiple
// of it, or else where another dim is as large; what has no such dim is the same in every part.
#pragma once

#include <vector>

#include "eager/generator.h"
#include "ir/op_def.h"

namespace tw::eager {

class Tracer;

class BatchPart {
 public:
  // The batch has `parts` parts of `size`. Inside of another one, it is the part of that one that is cut.
  BatchPart(int64_t size, int64_t parts);
  ~BatchPart() { end(); }
  BatchPart(const BatchPart&) = delete;
  BatchPart& operator=(const BatchPart&) = delete;

  // Part number `part` comes next: generators go back to where the first part began.
  void begin(int64_t part);
  // Generators stand where the longest part left them.
  void end();

  // That of this thread; null for none.
  static BatchPart* current();
  // Writes into the attributes of a random op which part its result, of these sizes, is.
  void place(const ir::OpDef& def, void* attrs, const Dims& sizes) const;
  // A generator is about to be drawn from.
  void note(Generator& generator);
  // Which part of the outermost batch this is.
  int64_t part() const { return first_ + part_; }

 private:
  struct Known {
    Ref<Generator> generator;
    uint64_t seed, first, last;  // draws when the first part began, and the most that any has left
  };
  void look(Known& known) const;

  int64_t size_, parts_, first_ = 0, part_ = 0;
  Tracer* tracer_;                          // that recorded when it was made
  int64_t first_draw_ = 0, last_draw_ = 0;  // of the tracer, as of a generator
  BatchPart *before_, *outer_;
  bool open_ = true;
  std::vector<Known> generators_;
};

// The next draw of a random op: of the trace that records, or of the generator.
PhiloxKey draw_key(Generator& generator);
// A block of draws for a program that runs. Programs do not know of parts: each gets numbers of its own.
PhiloxKey draw_block(Generator& generator, uint64_t count);

}  // namespace tw::eager
