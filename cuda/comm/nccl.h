// NCCL as the groups use it: loaded when the first communicator is made, so that a machine without it misses
// collectives of several GPUs alone.
#pragma once

#include "base/dtype.h"
#include "comm/call.h"
#include "cuda/common/nccl_api.h"

namespace tw::cuda {

struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRankConfig) init_rank;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclReduce) reduce;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) receive;
};

// Throws kDevice, naming `op`, where the library cannot be loaded. In vendor/load.cc, and in the emulator.
const Nccl& nccl(const char* op);

// Throws kComm with NCCL's words unless `result` is a success or says that the work goes on.
void check_nccl(ncclResult_t result, const char* op);

// Elements as NCCL moves them: `count` of ours are `count * parts` of its own.
struct NcclElements {
  ncclDataType_t type;
  int64_t parts;
};
// Of calls that move elements and look at none: any dtype.
NcclElements moved_elements(DType dtype);
// Of reductions: complex sums go part by part; truth values are bytes, of which the largest is "or" and the
// smallest "and". Throws kNotImplemented for what NCCL cannot do: int16, products of complex numbers.
NcclElements reduced_elements(DType dtype, comm::Reduction reduction, const char* op);
ncclRedOp_t reduction_of(DType dtype, comm::Reduction reduction);

}  // namespace tw::cuda
