// What goes ahead of the data of every call: who calls what, where.
#pragma once

#include <cstdint>
#include <string>

#include "comm/group.h"
#include "comm/stream.h"

namespace tw::comm {

struct CallHeader {
  uint64_t number = 0;  // of the call in its group
  int32_t rank = 0;     // the first one of the sender
  CallKind kind = CallKind::kBarrier;
  DType dtype = DType::kFloat32;
  Reduction reduction = Reduction::kSum;
  uint8_t dims = 0;
  int32_t root = 0;
  int64_t count = 0;
  uint64_t counts = 0;   // of each member, hashed
  uint64_t payload = 0;  // bytes that follow for this receiver, and in which pieces, hashed
  uint64_t pieces = 0;
  uint64_t wanted = 0, wanted_pieces = 0;  // the same of what the sender wants from the receiver
  int64_t sizes[8] = {};
  char origin[120] = {};

  // Whether both are the same call but for the payload.
  bool fits(const CallHeader& other) const;
  std::string text() const;  // "all_reduce of float32 [4] (sum) at train.py:12"
};
static_assert(sizeof(CallHeader) == 256);

CallHeader header_of(const Call& call, const Group& group, uint64_t number);

struct MessageHeader {
  int32_t from = 0, to = 0;
  int64_t tag = 0, count = 0;
  DType dtype = DType::kFloat32;
  char origin[103] = {};
};
static_assert(sizeof(MessageHeader) == 128);

}  // namespace tw::comm
