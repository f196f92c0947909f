// Memory between actors, from what walk() says of each of them.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "plan/check.h"
#include "plan/order.h"
#include "plan/walk.h"

namespace tw::plan {

namespace {

// Bytes of an arena that somebody uses.
struct Region {
  int64_t begin, end;
  int actor;     // -1: a register's, or a loan
  bool lasting;  // holds something between firings: nobody else may use it
  int loan;      // number of the value that lies there from its writer to its readers; -1: none does
  std::string name;
};

// A value in an arena that actors read which have not written it.
struct Loan {
  int writer;
  int64_t begin, end;
  std::vector<int> readers;
};

class Sharing {
 public:
  Sharing(const Plan& plan, const std::vector<int>& writers, const std::vector<Footprint>& footprints)
      : plan_(plan), writers_(writers), footprints_(footprints), order_(plan) {}

  void check() {
    check_leaves();
    for (size_t a = 0; a < plan_.actors.size(); a++)
      for (const Footprint::Read& read : footprints_[a].reads) check_read(static_cast<int>(a), read);
    for (size_t s = 0; s < plan_.segments.size(); s++) {
      SegmentKind kind = plan_.segments[s].kind;
      if (kind == SegmentKind::kArena) check_arena(static_cast<int>(s));
      if (kind == SegmentKind::kOutput || kind == SegmentKind::kVariable) check_writers(static_cast<int>(s));
      if (kind == SegmentKind::kOutput) check_written(static_cast<int>(s));
    }
  }

 private:
  const std::string& name(int actor) const { return plan_.actors[actor].name; }

  // What stands in a bound segment when the run begins has one name.
  void check_leaves() const {
    std::vector<int> leaves(plan_.segments.size(), -1);
    for (size_t v = 0; v < plan_.values.size(); v++) {
      const Value& value = plan_.values[v];
      if (value.storage >= 0 || value.reg >= 0 || writers_[v] >= 0) continue;
      if (plan_.segments[value.segment].kind == SegmentKind::kArena) continue;
      int& leaf = leaves[value.segment];
      TW_CHECK(leaf == -1, kValue, "plan: segment ", value.segment, " begins with value ", leaf,
               " and with value ", v);
      leaf = static_cast<int>(v);
    }
  }

  void check_read(int reader, const Footprint::Read& read) {
    const Value& v = plan_.values[read.value];
    int root = root_of(plan_, read.value), writer = writers_[root];
    if (writer == -1) {
      bool variable = v.reg == -1 && plan_.segments[v.segment].kind == SegmentKind::kVariable;
      TW_CHECK(variable, kValue, "plan: actor '", name(reader), "' reads value ", read.value,
               ", which nobody writes");
      return check_old(reader, v.segment, read);
    }
    bool arena = v.reg == -1 && plan_.segments[v.segment].kind == SegmentKind::kArena;
    const Footprint& footprint = footprints_[writer];
    const auto& left = v.reg >= 0 ? footprint.registers : arena ? footprint.left : footprint.bound;
    auto found = left.find(v.reg >= 0 ? v.reg : v.segment);
    TW_CHECK(found != left.end() && found->second.owned(read.begin, read.end, root), kValue, "plan: actor '",
             name(reader), "' reads value ", read.value, ", which '", name(writer), "' does not leave there");
    if (v.reg >= 0) return;  // the register itself orders the two
    bool next = plan_.segments[v.segment].kind == SegmentKind::kOutput || order_.before_next(reader, writer);
    TW_CHECK(order_.before(writer, reader) && next, kValue, "plan: actor '", name(reader), "' reads value ",
             read.value, ", and no register makes '", name(writer), "' write it before that and not again");
    if (arena) lend(root, writer, reader, read);
  }

  void lend(int root, int writer, int reader, const Footprint::Read& read) {
    TW_CHECK(plan_.actors[writer].rate == 1 && plan_.actors[reader].rate == 1, kValue, "plan: actor '",
             name(reader), "' reads value ", read.value, " of '", name(writer),
             "' in an arena; both need rate 1");
    Loan& loan = loans_.try_emplace(root, Loan{writer, read.begin, read.end, {}}).first->second;
    loan.begin = std::min(loan.begin, read.begin);
    loan.end = std::max(loan.end, read.end);
    if (loan.readers.empty() || loan.readers.back() != reader) loan.readers.push_back(reader);
  }

  // May actor `a` write bytes of the loan? Only before its writer begins or after all who read it have ended
  // (a reader may write there itself, after it has read: its launches were followed), and neither into the
  // loan of the next step nor into that of the step before.
  bool may_write(int a, const Loan& loan) {
    if (a == loan.writer) return true;
    auto next = [&](int user) { return order_.before_next(user, a); };
    bool reads = std::find(loan.readers.begin(), loan.readers.end(), a) != loan.readers.end();
    if (!reads && order_.before(a, loan.writer))
      return next(loan.writer) && std::ranges::all_of(loan.readers, next);
    auto ended = [&](int user) { return user == a || order_.before(user, a); };
    return ended(loan.writer) && std::ranges::all_of(loan.readers, ended) &&
           order_.before_next(a, loan.writer);
  }

  // What a variable holds when the step begins is read before anybody assigns it, and after that in the step
  // before.
  void check_old(int reader, int segment, const Footprint::Read& read) {
    for (size_t a = 0; a < plan_.actors.size(); a++) {
      int writer = static_cast<int>(a);
      auto found = footprints_[a].bound.find(segment);
      if (writer == reader || found == footprints_[a].bound.end() || found->second.free(read.begin, read.end))
        continue;
      TW_CHECK(order_.before(reader, writer) && order_.before_next(writer, reader), kValue, "plan: actor '",
               name(reader), "' reads value ", read.value, ", and no register makes '", name(writer),
               "' write the variable after that and before the next step");
    }
  }

  void check_writers(int segment) const {
    int first = -1;
    for (size_t a = 0; a < plan_.actors.size(); a++) {
      auto found = footprints_[a].bound.find(segment);
      if (found == footprints_[a].bound.end() || found->second.ranges().empty()) continue;
      TW_CHECK(first == -1, kValue, "plan: segment ", segment, " is written by '", name(first), "' and by '",
               plan_.actors[a].name, '\'');
      first = static_cast<int>(a);
    }
  }

  void check_written(int segment) const {
    int64_t end = 0;
    for (const Footprint& footprint : footprints_) {
      auto found = footprint.bound.find(segment);
      if (found == footprint.bound.end()) continue;
      for (const auto& [begin, range] : found->second.ranges())
        if (begin == end) end = range.end;
    }
    TW_CHECK(end == plan_.segments[segment].size_bytes, kValue, "plan: output ",
             plan_.segments[segment].index, " is written up to byte ", end, " of ",
             plan_.segments[segment].size_bytes);
  }

  std::vector<Region> regions(int segment) const {
    std::vector<Region> regions;
    for (const Register& r : plan_.registers)
      if (r.segment == segment)
        regions.push_back({r.offset_bytes, r.offset_bytes + r.slots * r.slot_bytes, -1, true, -1,
                           "register '" + r.name + '\''});
    for (const auto& [root, loan] : loans_)
      if (plan_.values[root].segment == segment && loan.begin < loan.end)
        regions.push_back({loan.begin, loan.end, -1, false, root, cat("value ", root)});
    for (size_t a = 0; a < plan_.actors.size(); a++) {
      auto add = [&](const std::map<int, Owners>& used, bool lasting, const char* what) {
        auto found = used.find(segment);
        if (found == used.end()) return;
        size_t own = regions.size();
        for (const auto& [begin, range] : found->second.ranges()) {
          if (regions.size() > own && regions.back().end == begin)
            regions.back().end = range.end;
          else
            regions.push_back({begin, range.end, static_cast<int>(a), lasting, -1,
                               cat(what, " of '", plan_.actors[a].name, '\'')});
        }
      };
      add(footprints_[a].scratch, false, "scratch");
      add(footprints_[a].lasting, true, "memory between firings");
    }
    std::sort(regions.begin(), regions.end(),
              [](const Region& a, const Region& b) { return a.begin < b.begin; });
    return regions;
  }

  bool may_share(const Region& a, const Region& b) {
    if (a.loan >= 0 && b.loan >= 0) return true;  // the writer of either is held against the other
    if (a.loan >= 0 && b.actor >= 0) return may_write(b.actor, loans_.at(a.loan));
    if (b.loan >= 0 && a.actor >= 0) return may_write(a.actor, loans_.at(b.loan));
    if (a.actor == -1 || b.actor == -1) return false;
    if (a.actor == b.actor) return true;  // its own launches were followed
    if (a.lasting || b.lasting) return false;
    return plan_.actors[a.actor].stream == plan_.actors[b.actor].stream || order_.exclusive(a.actor, b.actor);
  }

  // A sweep over the regions by their begin.
  void check_arena(int segment) {
    std::vector<Region> all = regions(segment);
    auto by_end = [&](size_t a, size_t b) { return std::pair(all[a].end, a) < std::pair(all[b].end, b); };
    std::set<size_t, decltype(by_end)> open(by_end);
    for (size_t i = 0; i < all.size(); i++) {
      while (!open.empty() && all[*open.begin()].end <= all[i].begin) open.erase(open.begin());
      for (size_t j : open)
        TW_CHECK(may_share(all[i], all[j]), kValue, "plan: ", all[i].name, " and ", all[j].name,
                 " share bytes of segment ", segment, " from ", all[i].begin,
                 " on and may use them at the same time");
      open.insert(i);
    }
  }

  const Plan& plan_;
  const std::vector<int>& writers_;
  const std::vector<Footprint>& footprints_;
  std::map<int, Loan> loans_;  // by value
  Order order_;
};

}  // namespace

void check_memory(const Plan& plan) {
  std::vector<int> writers = writers_of(plan);
  std::vector<Footprint> footprints;
  for (size_t a = 0; a < plan.actors.size(); a++)
    footprints.push_back(walk(plan, static_cast<int>(a), writers));
  Sharing(plan, writers, footprints).check();
}

}  // namespace tw::plan
