// Calls between machines in two levels. With H machines, L processes on each, T bytes:
//   all-reduce      in pieces: on each machine, process j < L reduces segment j of all its processes; the
//   processes j of
//                   all machines reduce their sums, each a share, and exchange the results; process j hands
//                   them on. 2 (H-1)/H T out of each machine, where all to all would send 2 L (H-1)/H T.
//   all-gather,     what a process has goes to one process of each other machine, which hands it on; to those
//   of its broadcast       own machine it goes straight. reduce-scatter, on each machine one process reduces
//   what is for a process of another machine, and sends the sum. reduce
// The smallest machine's processes are the ones that send to others. Everybody lists what is sent in one
// order, in which a sum comes one piece ahead of what waits for it: no wait goes round in a circle.
#pragma once

#include <vector>

#include "comm/transfer.h"

namespace tw::comm {

class Transfer::TwoLevels {
 public:
  explicit TwoLevels(Transfer& transfer);
  // Elements that the process at a place has, or is to have; `memory` is set where that is this process.
  struct Part {
    int place;
    int64_t offset, count;
    char* memory;
  };
  void all_reduce(char* output, const char* own, int64_t count);
  // From each part's process to all, into `output`, where all parts have their places.
  void deliver(const std::vector<Part>& parts, char* output);
  // From all, who have all parts in `own`, to each part's process.
  void reduce(const std::vector<Part>& parts, const char* own);

 private:
  struct Range {
    int64_t first, count;
  };
  int places_here() const { return static_cast<int>(hosts_[host_].size()); }
  int relay(size_t host, int place) const;  // the process of a host that stands for it to a place elsewhere
  Range segment(int lane) const;            // of the current chunk
  Range share(int lane, size_t host) const;

  void add_host_sum(char* output, const char* own);
  void add_sum(char* output, const char* from, int needs);
  void add_results(char* output, int needs);
  void deliver_piece(const Part& part, int64_t first, int64_t count, char* output);
  int sum_here(const Part& part, Range range, const char* own, char* scratch);
  void sum_there(const Part& part, Range range, const char* own, const char* scratch, int needs);

  Transfer& t_;
  int64_t size_;
  std::vector<std::vector<int>> hosts_;  // the places of each
  std::vector<size_t> host_of_;          // of a place, and its number there
  std::vector<int> local_of_;
  size_t host_ = 0;
  int local_ = 0, lanes_;
  Range chunk_{};
};

}  // namespace tw::comm
