// The fields of the plan's structs by name, written down once: fields_of<Segment>(v) calls v("kind",
// &Segment::kind) and so on. The printer and the parser both follow it, and so does whatever else looks at
// every field.
#pragma once

#include <span>

#include "plan/plan.h"

namespace tw::plan {

template <class T>
struct Tag {};

template <class V>
void fields(Tag<Segment>, V& v) {
  v("kind", &Segment::kind);
  v("index", &Segment::index);
  v("size_bytes", &Segment::size_bytes);
  v("device", &Segment::device);
}

template <class V>
void fields(Tag<Stream>, V& v) {
  v("kind", &Stream::kind);
  v("device", &Stream::device);
}

template <class V>
void fields(Tag<Register>, V& v) {
  v("name", &Register::name);
  v("segment", &Register::segment);
  v("offset_bytes", &Register::offset_bytes);
  v("slot_bytes", &Register::slot_bytes);
  v("slots", &Register::slots);
  v("rate", &Register::rate);
  v("initial", &Register::initial);
}

template <class V>
void fields(Tag<Value>, V& v) {
  v("segment", &Value::segment);
  v("register", &Value::reg);
  v("offset_bytes", &Value::offset_bytes);
  v("advance_bytes", &Value::advance_bytes);
  v("dtype", &Value::dtype);
  v("sizes", &Value::sizes);
  v("strides", &Value::strides);
  v("storage", &Value::storage);
}

template <class V>
void fields(Tag<Launch>, V& v) {
  v("op", &Launch::op);
  v("attrs", &Launch::attrs);
  v("inputs", &Launch::inputs);
  v("starts", &Launch::starts);
  v("outputs", &Launch::outputs);
  v("mutated", &Launch::mutated);
  v("becomes", &Launch::becomes);
  v("in_place", &Launch::in_place);
  v("when", &Launch::when);
  v("draw", &Launch::draw);
  v("lifted", &Launch::lifted);
  v("module", &Launch::module);
  v("origin", &Launch::origin);
  v("node", &Launch::node);
  v("region", &Launch::region);
}

template <class V>
void fields(Tag<Region>, V& v) {
  v("kind", &Region::kind);
  v("carried", &Region::carried);
  v("slices", &Region::slices);
  v("length", &Region::length);
  v("reverse", &Region::reverse);
  v("parts", &Region::parts);
  v("meets", &Region::meets);
}

template <class V>
void fields(Tag<Actor>, V& v) {
  v("name", &Actor::name);
  v("kind", &Actor::kind);
  v("stream", &Actor::stream);
  v("rate", &Actor::rate);
  v("reads", &Actor::reads);
  v("writes", &Actor::writes);
  v("draws", &Actor::draws);
  v("commit", &Actor::commit);
}

template <class V>
void fields(Tag<Plan>, V& v) {
  v("version", &Plan::version);
  v("name", &Plan::name);
  v("draws", &Plan::draws);
  v("lower_bound_bytes", &Plan::lower_bound_bytes);
}

template <class T, class V>
void fields_of(V&& v) {
  fields(Tag<T>(), v);
}

// Names of enumerators, in their order.
inline constexpr const char* kSegmentKinds[] = {"arena", "input", "variable", "constant", "output"};
inline constexpr const char* kStreamKinds[] = {"compute", "host_input", "host_output", "copy", "comm"};
inline constexpr const char* kActorKinds[] = {"chain", "host_call", "host_input", "comm"};
inline constexpr const char* kRegionKinds[] = {"cond", "loop"};
inline constexpr const char* kWhens[] = {"always", "first", "last"};

inline std::span<const char* const> names_of(SegmentKind) { return kSegmentKinds; }
inline std::span<const char* const> names_of(StreamKind) { return kStreamKinds; }
inline std::span<const char* const> names_of(ActorKind) { return kActorKinds; }
inline std::span<const char* const> names_of(RegionKind) { return kRegionKinds; }
inline std::span<const char* const> names_of(When) { return kWhens; }

}  // namespace tw::plan
