#include "plan/walk.h"

#include <algorithm>

#include "base/error.h"

namespace tw::plan {

std::vector<int> writers_of(const Plan& plan) {
  std::vector<int> writers(plan.values.size(), -1);
  for (size_t a = 0; a < plan.actors.size(); a++) {
    auto write = [&](int value) {
      if (value < 0) return;
      int& writer = writers[root_of(plan, value)];
      TW_CHECK(writer == -1 || writer == static_cast<int>(a), kValue, "plan: value ", root_of(plan, value),
               " is written by '", plan.actors[writer].name, "' and by '", plan.actors[a].name, '\'');
      writer = static_cast<int>(a);
    };
    for (const Launch& launch : plan.actors[a].launches) {
      for (int v : launch.outputs) write(v);
      for (size_t i = 0; i < launch.mutated.size(); i++) {
        int becomes = i < launch.becomes.size() ? launch.becomes[i] : -1;
        write(becomes >= 0 ? becomes : launch.inputs[launch.mutated[i]]);
      }
    }
  }
  return writers;
}

namespace {

struct Place {
  int value, root;
  int64_t begin, end;  // bytes in the segment, or in the register's slot
  bool operator==(const Place&) const = default;
};

class Walk {
 public:
  Walk(const Plan& plan, int number, const std::vector<int>& writers)
      : plan_(plan), number_(number), actor_(plan.actors[number]), writers_(writers) {
    for (int r : actor_.reads) reads_.push_back(r);
    std::sort(reads_.begin(), reads_.end());
    writes_ = actor_.writes;
    std::sort(writes_.begin(), writes_.end());
  }

  Footprint run() {
    for (int firing : firings()) fire(firing);
    footprint_.left = std::move(kept_);
    return std::move(footprint_);
  }

 private:
  // Firings that differ in what they do: the first, the last, and two between them, so that one follows
  // another. All of them where a value is put together from parts, or where slots are handed over at another
  // rate.
  std::vector<int> firings() const {
    bool all = false;
    for (const Launch& launch : actor_.launches)
      for (int v : launch.outputs) all |= v >= 0 && plan_.values[v].advance_bytes != 0;
    for (int r : writes_) all |= plan_.registers[r].rate != 1 && plan_.registers[r].rate != actor_.rate;
    std::vector<int> chosen;
    for (int f = 0; f < actor_.rate; f++)
      if (all || f < 3 || f == actor_.rate - 1) chosen.push_back(f);
    return chosen;
  }

  void fire(int firing) {
    firing_ = firing;
    fresh_.clear();
    for (int r : writes_)
      if (firing % sharing(r) == 0) slots_[r].clear();
    for (size_t i = 0; i < actor_.launches.size(); i++) {
      const Launch& launch = actor_.launches[i];
      if (launch.when == When::kFirst && firing != 0) continue;
      if (launch.when == When::kLast && firing != actor_.rate - 1) continue;
      try {
        follow(launch, static_cast<int>(i));
      } catch (const Error& error) {
        throw Error(error.kind(),
                    cat("plan: actor '", actor_.name, "', launch ", i, " (", launch.op, "): ", error.what()));
      }
    }
    for (int r : writes_) hand_over(r);
  }

  int sharing(int r) const { return actor_.rate / plan_.registers[r].rate; }

  void hand_over(int r) {
    if ((firing_ + 1) % sharing(r) != 0) return;
    auto [handed, first] = footprint_.registers.try_emplace(r, slots_[r]);
    if (!first) handed->second.keep_common(slots_[r]);
  }

  Place place(int value) {
    const Value& v = plan_.values[value];
    int64_t part = 0, parts = 1;
    if (v.reg >= 0) {
      TW_CHECK(std::binary_search(reads_.begin(), reads_.end(), v.reg) ||
                   std::binary_search(writes_.begin(), writes_.end(), v.reg),
               kValue, "value ", value, " lies in register '", plan_.registers[v.reg].name,
               "', which the actor neither reads nor writes");
      parts = sharing(v.reg);
    } else {
      TW_CHECK(actor_.kind != ActorKind::kHostInput, kValue, "value ", value,
               " lies in no register; a host input has no other memory");
      parts = actor_.rate;
    }
    part = firing_ % parts;
    int64_t span = span_bytes(v), begin = v.offset_bytes + part * v.advance_bytes;
    if (v.advance_bytes != 0) {
      const Value& whole = plan_.values[v.storage];
      int64_t room = whole.offset_bytes + span_bytes(whole) - v.offset_bytes - span;
      TW_CHECK(v.advance_bytes <= room / std::max<int64_t>(parts - 1, 1) || parts == 1, kValue, "value ",
               value, " leaves value ", v.storage, " when it advances by ", v.advance_bytes, ' ', parts - 1,
               " times");
    }
    return {value, root_of(plan_, value), begin, begin + span};
  }

  void follow(const Launch& launch, int index) {
    std::vector<Place> inputs, outputs;
    for (int v : launch.inputs) {
      if (v < 0) continue;
      inputs.push_back(place(v));
      read(inputs.back());
    }
    for (size_t o = 0; o < launch.outputs.size(); o++) {
      if (launch.outputs[o] < 0) continue;
      Place output = place(launch.outputs[o]);
      int in_place = o < launch.in_place.size() ? launch.in_place[o] : -1;
      check_inputs(output, inputs, in_place >= 0);
      TW_CHECK(in_place < 0 || same_elements(output.value, launch.inputs[in_place]), kValue, "output ", o,
               " does not take over the memory of input ", in_place);
      for (const Place& other : outputs)
        TW_CHECK(!overlap(output, other), kValue, "values ", output.value, " and ", other.value, " overlap");
      outputs.push_back(output);
    }
    for (size_t i = 0; i < launch.mutated.size(); i++) {
      int value = launch.inputs[launch.mutated[i]];
      int becomes = i < launch.becomes.size() ? launch.becomes[i] : -1;
      TW_CHECK(becomes < 0 || same_elements(becomes, value), kValue, "value ", becomes,
               " does not take over the memory of value ", value);
      Place mutated = place(value);
      check_inputs(mutated, inputs, true);
      for (const Place& other : outputs)
        TW_CHECK(!overlap(mutated, other), kValue, "values ", value, " and ", other.value, " overlap");
      outputs.push_back(becomes >= 0 ? place(becomes) : mutated);
    }
    for (const Place& output : outputs) write(output, index);
  }

  bool overlap(const Place& a, const Place& b) const {
    const Value &x = plan_.values[a.value], &y = plan_.values[b.value];
    return x.segment == y.segment && x.reg == y.reg && a.begin < b.end && b.begin < a.end;
  }
  // The same elements at the same addresses.
  bool same_elements(int a, int b) {
    const Value &x = plan_.values[a], &y = plan_.values[b];
    return x.segment == y.segment && x.reg == y.reg && place(a).begin == place(b).begin &&
           x.sizes == y.sizes && x.strides == y.strides && size_of(x.dtype) == size_of(y.dtype);
  }
  // A kernel may overwrite an input only where it is said to, and only element by element.
  void check_inputs(const Place& written, const std::vector<Place>& inputs, bool may) {
    for (const Place& input : inputs)
      TW_CHECK(!overlap(written, input) || (may && same_elements(written.value, input.value)), kValue,
               "value ", written.value, " is written over value ", input.value, ", which is read");
  }

  void read(const Place& p) {
    const Value& v = plan_.values[p.value];
    bool own = writers_[p.root] == number_;
    if (v.reg >= 0) {
      bool written_here = std::binary_search(writes_.begin(), writes_.end(), v.reg);
      if (written_here) return want(slots_[v.reg].owned(p.begin, p.end, p.root), p);
      return read_elsewhere(p);
    }
    switch (plan_.segments[v.segment].kind) {
      case SegmentKind::kInput:
      case SegmentKind::kConstant:
        return;
      case SegmentKind::kArena:
        if (!own) {
          want(kept_[v.segment].free(p.begin, p.end), p);
          return read_elsewhere(p);
        }
        want(kept_[v.segment].owned(p.begin, p.end, p.root), p);
        if (actor_.rate > 1 && !fresh_[v.segment].owned(p.begin, p.end, p.root))
          footprint_.lasting[v.segment].set(p.begin, p.end, 0);
        return;
      default:
        break;
    }
    Owners& bound = footprint_.bound[v.segment];
    if (own) return want(bound.owned(p.begin, p.end, p.root), p);
    want(bound.free(p.begin, p.end), p);
    read_elsewhere(p);
  }
  // Of parts of a batch not every firing is followed, so all of the batch counts as read.
  void read_elsewhere(const Place& p) {
    const Value& whole = plan_.values[p.root];
    bool part = plan_.values[p.value].advance_bytes != 0;
    int64_t begin = part ? whole.offset_bytes : p.begin;
    footprint_.reads.push_back({p.value, begin, part ? begin + span_bytes(whole) : p.end});
  }
  void want(bool holds, const Place& p) const {
    TW_CHECK(holds, kValue, "value ", p.value, " is not, or no longer, in the memory that is read");
  }

  void write(const Place& p, int index) {
    const Value& v = plan_.values[p.value];
    TW_CHECK(!may_overlap(v.sizes, v.strides), kValue, "value ", p.value,
             " is written and its elements overlap");
    if (v.reg >= 0) {
      TW_CHECK(std::binary_search(writes_.begin(), writes_.end(), v.reg), kValue, "value ", p.value,
               " lies in register '", plan_.registers[v.reg].name, "', which the actor does not write");
      return slots_[v.reg].set(p.begin, p.end, p.root);
    }
    SegmentKind kind = plan_.segments[v.segment].kind;
    TW_CHECK(kind != SegmentKind::kInput && kind != SegmentKind::kConstant, kValue, "value ", p.value,
             " is written; inputs and constants are only read");
    if (kind == SegmentKind::kArena) {
      kept_[v.segment].set(p.begin, p.end, p.root);
      if (actor_.rate > 1) fresh_[v.segment].set(p.begin, p.end, p.root);
      return footprint_.scratch[v.segment].set(p.begin, p.end, 0);
    }
    TW_CHECK(kind != SegmentKind::kVariable || (actor_.commit >= 0 && index >= actor_.commit), kValue,
             "value ", p.value, " is a variable's and written before the commit");
    footprint_.bound[v.segment].set(p.begin, p.end, p.root);
  }

  const Plan& plan_;
  int number_;
  const Actor& actor_;
  const std::vector<int>& writers_;
  std::vector<int> reads_, writes_;
  int firing_ = 0;
  std::map<int, Owners> kept_, fresh_;  // by arena: since the step began, and since the firing did
  std::map<int, Owners> slots_;         // by register: the slot that is being filled
  Footprint footprint_;
};

}  // namespace

Footprint walk(const Plan& plan, int actor, const std::vector<int>& writers) {
  return Walk(plan, actor, writers).run();
}

}  // namespace tw::plan
