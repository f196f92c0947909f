#include "session/agreement.h"

#include <algorithm>
#include <sstream>

#include "comm/world.h"
#include "ir/layouts.h"
#include "ops/boxing/boxing_part.h"
#include "planner/crossing.h"

namespace tw::session {

namespace {

uint64_t digest_of(const std::string& text) {
  uint64_t digest = 14695981039346656037u;
  for (unsigned char c : text) digest = (digest ^ c) * 1099511628211u;
  return digest;
}

void add_processes(const std::string& layout, std::set<int>* processes) {
  ir::TextLexer lexer(layout);
  for (int64_t rank : ir::parse_layout(lexer)->placement->ranks)
    processes->insert(comm::world().process_of(static_cast<int>(rank)));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Agreement::Agreement(const ir::Graph& graph) : name_(graph.name) {
  add_boxings(graph, graph.strings);
  for (Set& set : sets_) {
    for (const Entry& boxing : set.boxings) set.text += cat("boxing ", boxing.order, ", ", boxing.text, '\n');
    set.group = comm::Group::of(set.ranks, comm::Caller::kProgram);
    set.epoch = set.group->epoch();
    add_groups({&set.group, 1});
  }
}

void Agreement::add_groups(std::span<const Ref<comm::Group>> groups) {
  for (const Ref<comm::Group>& group : groups)
    if (std::ranges::find(groups_, group) == groups_.end()) groups_.push_back(group);
}

void Agreement::begin_step() {
  try {
    for (const Ref<comm::Group>& group : groups_) group->begin_anew();
  } catch (const Error& error) {
    give_up(error.what());
    throw;
  }
  auto is_new = [](const Set& set) { return set.epoch != set.group->epoch(); };
  if (std::ranges::none_of(sets_, is_new)) return;
  next_ = 0;
  for (Set& set : sets_) {
    set.epoch = set.group->epoch();
    set.request = nullptr;
    set.differs = false;
  }
}

void Agreement::add_boxings(const ir::Graph& graph, const ir::StringTable& strings) {
  std::unordered_set<const ir::Node*> crossings = planner::find_crossings(graph);
  for (const auto& node : graph.nodes) {
    for (const auto& region : node->regions) add_boxings(*region, strings);
    if (!crossings.contains(node.get())) continue;
    const auto& a = *static_cast<const ops::BoxingPartAttrs*>(node->attrs.get());
    std::set<int> processes;
    add_processes(a.source, &processes);
    add_processes(a.target, &processes);
    if (processes.size() == 1) continue;  // between devices of this process
    auto [found, is_new] = known_.try_emplace(processes, sets_.size());
    if (is_new) {
      sets_.emplace_back();
      for (int process : processes)
        sets_.back().ranks.push_back(comm::world().processes()[process].first_rank);
    }
    const std::string& origin = strings[node->origin];
    std::string text = cat(a.source, " -> ", a.target, " of ", a.dtype, a.size);
    sets_[found->second].boxings.push_back(
        {a.order, origin.empty() ? text : cat(text, " (at ", origin, ')')});
  }
}

bool Agreement::advance() {
  for (; next_ < sets_.size(); next_++) {
    Set& set = sets_[next_];
    if (!set.request) post_summary(set);
    if (!set.request->test()) return false;
    if (set.differs) refuse(set);
    auto same = [&](const Summary& other) { return other.digest == set.summaries[0].digest; };
    set.differs = !std::ranges::all_of(set.summaries, same);
    if (set.differs) {
      post_text(set);
      return advance();
    }
    set.request = nullptr;
  }
  return true;
}

void Agreement::post_summary(Set& set) {
  set.summaries.resize(set.ranks.size());
  size_t self = set.group->members()[0];
  set.summaries[self] = {digest_of(set.text), static_cast<int64_t>(set.text.size())};
  comm::Part part{&set.summaries[self], set.summaries.data(), {}, {}};
  comm::Call call{
      .kind = comm::CallKind::kAllGather, .dtype = DType::kInt64, .parts = {&part, 1}, .count = 2};
  set.request = set.group->post(call);
}

void Agreement::post_text(Set& set) {
  std::vector<int64_t> counts;
  int64_t total = 0;
  for (const Summary& summary : set.summaries) total += counts.emplace_back(summary.text_bytes);
  set.texts.resize(total);
  comm::Part part{set.text.data(), set.texts.data(), {}, {}};
  comm::Call call{
      .kind = comm::CallKind::kAllGather, .dtype = DType::kUInt8, .parts = {&part, 1}, .counts = counts};
  set.request = set.group->post(call);
}

void Agreement::refuse(const Set& set) const {
  std::vector<std::vector<std::string>> lists;
  size_t at = 0, most = 0;
  for (const Summary& summary : set.summaries) {
    lists.push_back(lines_of(std::string(set.texts.data() + at, summary.text_bytes)));
    at += summary.text_bytes;
    most = std::max(most, lists.back().size());
  }
  auto line = [&](size_t process, size_t i) {
    return i < lists[process].size() ? lists[process][i] : std::string("none");
  };
  std::string text;
  for (size_t i = 0; i < most && text.empty(); i++) {
    bool same = true;
    for (size_t p = 1; p < lists.size(); p++) same &= line(p, i) == line(0, i);
    if (same) continue;
    for (size_t p = 0; p < lists.size(); p++) text += cat("; rank ", set.ranks[p], ": ", line(p, i));
  }
  TW_FAIL(kComm, name_, ": the processes do not make the same boxings", text);
}

void Agreement::give_up(const std::string& reason) {
  for (const Ref<comm::Group>& group : groups_) group->give_up(reason);
}

}  // namespace tw::session
