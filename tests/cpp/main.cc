// Runs the tests of one program: main [--list] [--file STEM] [PART_OF_A_NAME]. Exits 1 when a test fails or
// none fits.
#include <cstring>

#include "test.h"

namespace {

// "a/b/shape_test.cc" -> "shape_test"
std::string_view stem_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.substr(0, path.rfind('.'));
}

bool passes(const tw::test::Case& test) {
  std::string problem;
  try {
    test.body();
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {
    problem = "something that is no std::exception was thrown";
  }
  if (!problem.empty()) std::printf("FAIL %s: %s\n", std::string(test.name).c_str(), problem.c_str());
  std::fflush(stdout);
  return problem.empty();
}

}  // namespace

int main(int argc, char** argv) {
  bool list = false;
  std::string_view file, part;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--list") == 0) {
      list = true;
    } else if (std::strcmp(argv[i], "--file") == 0 && i + 1 < argc) {
      file = argv[++i];
    } else {
      part = argv[i];
    }
  }
  int ran = 0, failed = 0;
  for (const auto& test : tw::test::cases()) {
    if (!file.empty() && stem_of(test.file) != file) continue;
    if (test.name.find(part) == std::string_view::npos) continue;
    ++ran;
    if (list) {
      std::printf("%s %s\n", std::string(stem_of(test.file)).c_str(), std::string(test.name).c_str());
    } else if (!passes(test)) {
      ++failed;
    }
  }
  if (!list) std::printf("%d tests, %d failed\n", ran, failed);
  return failed == 0 && ran > 0 ? 0 : 1;
}
