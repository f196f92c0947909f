// Runs a saved graph without Python; see docs/archives.md.
//
//   run_graph model.tw [--input name=file.safetensors]... [--random] [--number name=value]... [--seed N]
//             [--repeat N] [--output results.safetensors]
//
// Prints inputs, the results of the last run with their checksums, and the time of each run. Exits with 1 and
// one sentence on bad input.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <optional>

#include "eager/dispatch.h"
#include "eager/generator.h"
#include "ir/graph_text.h"
#include "session/crc32.h"
#include "session/formula.h"
#include "session/loaded_program.h"
#include "session/tensor_file.h"

namespace {

using tw::Scalar;
using tw::eager::Tensor;

constexpr char kUsage[] =
    "usage: run_graph model.tw [--input name=file.safetensors]... [--random] [--number name=value]... "
    "[--seed N] "
    "[--repeat N] [--output results.safetensors]";

struct Options {
  std::string graph, output;
  std::map<std::string, std::string> inputs;
  std::vector<std::pair<std::string, Scalar>> numbers;
  bool random = false;
  int64_t repeat = 1, seed = 0;
};

std::pair<std::string, std::string> named(const std::string& option, const std::string& text) {
  size_t at = text.rfind('=');
  TW_CHECK(at != std::string::npos, kValue, option, " wants name=value, got ", text);
  return {text.substr(0, at), text.substr(at + 1)};
}

int64_t whole_number(const std::string& option, const std::string& text, int64_t least) {
  Scalar value = tw::session::evaluate_formula(text, {});
  TW_CHECK(value.kind() == tw::DTypeKind::kInt && value.to_int() >= least, kValue, option,
           " wants an integer from ", least, " on, got ", text);
  return value.to_int();
}

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; i++) {
    std::string word = words[i];
    if (word == "--random") {
      options.random = true;
    } else if (!word.starts_with("--")) {
      TW_CHECK(options.graph.empty(), kValue, "one graph is wanted, got ", options.graph, " and ", word);
      options.graph = word;
    } else {
      TW_CHECK(++i < count, kValue, word, " wants a value; ", kUsage);
      std::string text = words[i];
      if (word == "--input") {
        options.inputs.insert(named(word, text));
      } else if (word == "--number") {
        auto [name, value] = named(word, text);
        options.numbers.emplace_back(name, tw::session::evaluate_formula(value, {}));
      } else if (word == "--repeat") {
        options.repeat = whole_number(word, text, 1);
      } else if (word == "--seed") {
        options.seed = whole_number(word, text, 0);
      } else if (word == "--output") {
        options.output = text;
      } else {
        TW_FAIL(kValue, "unknown option ", word, "; ", kUsage);
      }
    }
  }
  TW_CHECK(!options.graph.empty(), kValue, "a graph is wanted; ", kUsage);
  return options;
}

// The tensor of that name, or the only one.
Tensor read_input(const std::string& name, const std::string& path) {
  tw::session::TensorFile file;
  try {
    file = tw::session::read_tensor_file(path);
  } catch (const tw::Error& error) {
    tw::throw_error(error.kind(), tw::cat("input \"", name, "\": ", path, ": ", error.what()));
  }
  for (auto& [known, tensor] : file.tensors)
    if (known == name) return tensor;
  TW_CHECK(file.tensors.size() == 1, kValue, "input \"", name, "\": ", path,
           " has no tensor of that name, but ", file.tensors.size(), " others");
  return file.tensors[0].second;
}

// Uniform in [0, 1) for floats, zeros for the rest, which may be indices.
Tensor random_input(const tw::ir::GraphValue& value) {
  Tensor tensor = tw::eager::empty(value.sizes, value.dtype);
  std::memset(tensor->data(), 0, static_cast<size_t>(tensor->count() * tw::size_of(value.dtype)));
  uint64_t state = 0x9e3779b97f4a7c15;
  auto next = [&] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  auto fill = [&](auto zero) {
    auto* items = static_cast<decltype(zero)*>(tensor->data());
    for (int64_t i = 0; i < tensor->count(); i++) items[i] = decltype(zero)(static_cast<float>(next()));
  };
  if (value.dtype == tw::DType::kFloat16) fill(tw::float16());
  if (value.dtype == tw::DType::kBFloat16) fill(tw::bfloat16());
  if (value.dtype == tw::DType::kFloat32) fill(0.0f);
  if (value.dtype == tw::DType::kFloat64) fill(0.0);
  return tensor;
}

std::vector<Tensor> make_inputs(tw::session::LoadedProgram& program, Options options) {
  std::vector<Tensor> inputs;
  for (const tw::ir::Leaf& leaf : program.inputs()) {
    auto given = options.inputs.find(leaf.name);
    TW_CHECK(given != options.inputs.end() || options.random, kValue, options.graph, ": input \"", leaf.name,
             "\" is missing: give --input ", leaf.name, "=file.safetensors, or --random");
    inputs.push_back(given == options.inputs.end() ? random_input(*leaf.value)
                                                   : read_input(leaf.name, given->second));
    if (given != options.inputs.end()) options.inputs.erase(given);
  }
  TW_CHECK(options.inputs.empty(), kValue, options.graph, ": there is no input \"",
           options.inputs.begin()->first, "\"");
  return inputs;
}

void print_tensor(const char* kind, const std::string& name, const Tensor& tensor) {
  tw::session::Crc32 crc;
  crc.add(tensor->data(), static_cast<size_t>(tensor->count() * tw::size_of(tensor->dtype)));
  std::printf("%s %s: %s, checksum %08x\n", kind, name.c_str(),
              tw::ir::type_text(tensor->dtype, tensor->sizes).c_str(), crc.value());
}

void run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  auto program = tw::session::LoadedProgram::load(options.graph);
  std::vector<Tensor> inputs = make_inputs(*program, options), outputs;
  for (size_t i = 0; i < inputs.size(); i++) print_tensor("input", program->inputs()[i].name, inputs[i]);
  tw::eager::default_generator().set_state(static_cast<uint64_t>(options.seed), 0);
  for (int64_t i = 0; i < options.repeat; i++) {
    Clock::time_point start = Clock::now();
    outputs = program->run(inputs, options.numbers);
    std::chrono::duration<double, std::milli> time = Clock::now() - start;
    std::printf("run %lld: %.3f ms\n", static_cast<long long>(i + 1), time.count());
  }
  tw::session::TensorFile file;
  for (size_t i = 0; i < outputs.size(); i++) {
    print_tensor("result", program->result_names()[i], outputs[i]);
    file.tensors.emplace_back(program->result_names()[i], outputs[i]);
  }
  if (!options.output.empty()) tw::session::write_tensor_file(options.output, file);
}

}  // namespace

int main(int count, char** words) {
  try {
    tw::eager::initialize();
    run(parse(count, words));
    return 0;
  } catch (const std::bad_alloc&) {
    std::cerr << "run_graph: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "run_graph: " << error.what() << "\n";
  }
  return 1;
}
