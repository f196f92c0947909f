// Every pass of cpp/passes/<stage>/ on the pairs of graphs in tests/passes/<stage>/<pass>.ir: the first of a
// pair has to become the second. The comment before a pair is its name.
#include <filesystem>
#include <fstream>
#include <set>

#include "eager/dispatch.h"
#include "ir/graph_text.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "test.h"

using namespace tw;

namespace {

namespace fs = std::filesystem;

struct Case {
  std::string name, before, after;
};

std::vector<Case> read_cases(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> graphs, names;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("graph ")) {
      inside = true;
      graphs.emplace_back();
    }
    if (inside) graphs.back() += line + "\n";
    if (line == "}") inside = false;
    if (!inside && line.starts_with("# ")) names.push_back(line.substr(2));
  }
  // The first comment is the file's.
  CHECK_EQ(graphs.size(), 2 * (names.size() - 1));
  std::vector<Case> cases;
  for (size_t i = 1; i < names.size(); i++) cases.push_back({names[i], graphs[2 * i - 2], graphs[2 * i - 1]});
  return cases;
}

// Empty when the pass does what the case says.
std::string problem_of(const passes::Pass& pass, const Case& one) {
  try {
    auto graph = ir::parse_graph(one.before), wanted = ir::parse_graph(one.after);
    ir::verify(*graph);
    passes::run_passes(*graph, {&pass, 1});
    std::string got_text = ir::print_graph(*graph), wanted_text = ir::print_graph(*wanted);
    return got_text == wanted_text ? "" : "wanted\n" + wanted_text + "got\n" + got_text;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST(each_pass_does_what_its_cases_say) {
  eager::initialize();
  std::set<std::string> tested;
  std::string problems;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TW_TESTS) / "passes")) {
    if (entry.path().extension() != ".ir") continue;
    std::string stem = entry.path().stem();
    const passes::Pass* pass = passes::find_pass(stem);
    CHECK(pass);
    tested.insert(stem);
    for (const Case& one : read_cases(entry.path()))
      if (std::string problem = problem_of(*pass, one); !problem.empty())
        problems += stem + ", " + one.name + ": " + problem + "\n";
  }
  for (std::span<const passes::Pass> all :
       {passes::simplify_passes(), passes::layout_passes(), passes::meeting_passes(), passes::fuse_passes()})
    for (const passes::Pass& pass : all)
      if (!tested.contains(pass.name)) problems += std::string(pass.name) + " has no cases\n";
  CHECK_EQ(problems, "");
}
