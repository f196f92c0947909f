// Before the processes of a program meet for the first time they make sure that they are going to make the
// same boxings, in the same order: otherwise they would take each other's data for something else, or wait
// for ever.
//
// The boxings of a graph are told apart by which processes take part. Of each such set all members tell each
// other a digest of the boxings that they share, with their places in the order; where digests differ, their
// list as text, so that all of them raise the same error, which names the first that differs.
//
// A step that fails ends all groups of its program, in every process. The next one begins them anew, and
// agrees again: whether others had come so far is not known then.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "comm/group.h"
#include "ir/graph.h"

namespace tw::session {

class Agreement {
 public:
  // Of the process's part of a graph. `graph` is only read here.
  explicit Agreement(const ir::Graph& graph);
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  bool reached() const { return next_ == sets_.size(); }
  // Goes on as far as can be without waiting; true when it is reached. Throws kComm where the others make
  // other boxings, and what their requests throw.
  bool advance();

  // Other groups in which the program's processes meet.
  void add_groups(std::span<const Ref<comm::Group>> groups);
  // Before each step, while none is running. Throws kComm where another process has given up one that this
  // process has done its part of.
  void begin_step();
  // Every process that takes part in a boxing hears of it, there or when it comes to one.
  void give_up(const std::string& reason);

 private:
  struct Entry {
    int64_t order;
    std::string text;  // "cpu[0, 1] P(sum) -> cpu[0, 1] B of float32[4] (at train.py:12)"
  };
  // What a process tells of a set, 8 bytes each.
  struct Summary {
    uint64_t digest;
    int64_t text_bytes;
  };
  struct Set {
    std::vector<int> ranks;  // the first of each process
    std::vector<Entry> boxings;
    Ref<comm::Group> group;
    uint64_t epoch = 0;  // of the group, when the agreement began
    std::string text;
    std::vector<Summary> summaries;
    std::vector<char> texts;
    Ref<comm::Request> request;
    bool differs = false;
  };
  // Of a graph and its regions, in their order.
  void add_boxings(const ir::Graph& graph, const ir::StringTable& strings);
  void post_summary(Set& set);
  void post_text(Set& set);
  [[noreturn]] void refuse(const Set& set) const;

  std::string name_;
  std::map<std::set<int>, size_t> known_;  // the set of those processes
  std::vector<Set> sets_;                  // by the order of their first boxings
  size_t next_ = 0;
  std::vector<Ref<comm::Group>> groups_;
};

}  // namespace tw::session
