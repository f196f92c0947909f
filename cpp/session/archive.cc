#include "session/archive.h"

#include <unordered_map>
#include <unordered_set>

#include "eager/global.h"
#include "eager/placing.h"
#include "ir/graph_text.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "passes/simplify/simplify.h"
#include "session/json.h"
#include "session/tensor_file.h"

namespace tw::session {

namespace {

using eager::Tensor;

constexpr char kFormat[] = "thalweg graph";
constexpr char kVersion[] = "1";

const std::string& needed(const TensorFile& file, const std::string& key) {
  const std::string* text = file.metadata_of(key);
  TW_CHECK(text, kValue, "its metadata lack \"", key, "\"");
  return *text;
}

std::vector<std::string> strings(const Json& json, const char* what) {
  std::vector<std::string> result;
  for (const Json& item : json.list(what)) result.push_back(item.string(what));
  return result;
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ',';
    append_json_string(list, text);
  }
  return list + "]";
}

// The whole memory that a variable stands for, as its value in the graph has it.
Tensor memory_of(const Tensor& tensor, const ir::GraphValue& value) {
  if (tensor->global) return eager::whole_here(*tensor);
  ir::Geometry geometry{value.sizes, contiguous_strides(value.sizes), 0};
  return eager::alias(*tensor, geometry);
}

// float64[..., 2] as complex128[...]: the format has no other form for it.
Tensor as_complex(const Tensor& pairs) {
  Tensor tensor(new eager::TensorImpl);
  tensor->dtype = DType::kComplex128;
  tensor->storage = pairs->storage;
  Dims sizes(pairs->sizes.begin(), pairs->sizes.end() - 1);
  Dims strides = contiguous_strides(sizes);
  tensor->set_geometry({std::move(sizes), std::move(strides), 0});
  return tensor;
}

class Shelf {
 public:
  explicit Shelf(TensorFile& file) {
    for (auto& [name, tensor] : file.tensors)
      TW_CHECK(tensors_.emplace(name, tensor).second, kValue, "tensor \"", name, "\" stands twice");
  }

  std::vector<Tensor> take(const std::vector<ir::Leaf>& leaves) {
    std::vector<Tensor> result;
    for (const ir::Leaf& leaf : leaves) result.push_back(take(leaf));
    return result;
  }

  void expect_empty() const {
    TW_CHECK(tensors_.empty(), kValue, "the graph does not know its tensor \"", tensors_.begin()->first,
             "\"");
  }

 private:
  Tensor take(const ir::Leaf& leaf) {
    auto at = tensors_.find(leaf.name);
    TW_CHECK(at != tensors_.end(), kValue, "tensor \"", leaf.name, "\" is missing");
    Tensor tensor = at->second;
    tensors_.erase(at);
    const ir::GraphValue& wanted = *leaf.value;
    bool pairs = tensor->dtype == DType::kFloat64 && !tensor->sizes.empty() && tensor->sizes.back() == 2;
    if (wanted.dtype == DType::kComplex128 && pairs) tensor = as_complex(tensor);
    TW_CHECK(tensor->dtype == wanted.dtype && tensor->sizes == wanted.sizes, kValue, "tensor \"", leaf.name,
             "\" must be ", ir::type_text(wanted.dtype, wanted.sizes), ", got ",
             ir::type_text(tensor->dtype, tensor->sizes));
    return tensor;
  }

  std::unordered_map<std::string, Tensor> tensors_;
};

Archive read_archive(const std::string& path) {
  TensorFile file = read_tensor_file(path, kFormat);
  const std::string& version = needed(file, "version");
  TW_CHECK(version == kVersion, kValue, "it has version ", version, ", and this thalweg reads version ",
           kVersion);
  Archive archive;
  archive.graph = ir::parse_graph(needed(file, "graph"));
  ir::verify(*archive.graph);
  Shelf shelf(file);
  archive.variables = shelf.take(archive.graph->variables);
  archive.constants = shelf.take(archive.graph->constants);
  shelf.expect_empty();
  archive.results = needed(file, "results");
  archive.result_names = strings(parse_json(needed(file, "result_names")), "result_names");
  TW_CHECK(archive.result_names.size() == archive.graph->outputs.size(), kValue, "the graph has ",
           archive.graph->outputs.size(), " results, but ", archive.result_names.size(), " names for them");
  archive.numbers = Numbers::parse(needed(file, "numbers"));
  if (const std::string* text = file.metadata_of("places"))
    archive.places = strings(parse_json(*text), "places");
  TW_CHECK(archive.places.empty() || archive.places.size() == archive.graph->outputs.size(), kValue,
           "the graph has ", archive.graph->outputs.size(), " results, but ", archive.places.size(),
           " places for them");
  if (const std::string* text = file.metadata_of("sizes"))
    archive.sizes = Sizes::parse(*text, *archive.graph);
  TW_CHECK(archive.numbers.graph.size() == archive.graph->numbers.size(), kValue, "the graph has ",
           archive.graph->numbers.size(), " numbers, but ", archive.numbers.graph.size(),
           " formulas for them");
  return archive;
}

void name_apart(std::vector<ir::Leaf>& leaves, std::unordered_set<std::string>& names) {
  for (ir::Leaf& leaf : leaves) {
    std::string name = leaf.name;
    for (int i = 2; name == "__metadata__" || !names.insert(name).second; i++) name = cat(leaf.name, ".", i);
    leaf.name = name;
  }
}

}  // namespace

void finish_trace(eager::Tracer& tracer, const std::vector<Tensor>& results) {
  const auto& generators = tracer.generators();
  TW_CHECK(
      generators.empty() || (generators.size() == 1 && generators[0].get() == &eager::default_generator()),
      kValue, "the call draws from a generator of its own, which cannot be saved");
  TW_CHECK(
      !tracer.parts_taken, kNotImplemented,
      "save_graph: the call goes from a global tensor to its parts, which each process has its own of, or "
      "back; leave that out of the function");
  std::vector<eager::GradChange> changes = tracer.restore_grads();
  for (const Tensor& result : results) tracer.graph().outputs.push_back(tracer.laid_out(*result));
  std::unordered_set<const eager::Storage*> captured;
  for (const Tensor& variable : tracer.variables()) captured.insert(variable->storage.get());
  for (const eager::GradChange& change : changes) {
    if (change.after == change.before) continue;
    bool reads_presence = change.read && static_cast<bool>(change.before) != static_cast<bool>(change.after);
    bool reads_value = change.before && captured.count(change.before->storage.get());
    TW_CHECK(!reads_presence && !reads_value, kValue,
             "the call leaves a gradient that its next call would add to: set gradients to None before "
             "backward, and call the function once before it is saved");
  }
}

Archive take_archive(eager::Tracer& tracer, bool simplified) {
  TW_CHECK(
      tracer.escaped().empty(), kValue,
      "the call makes a tensor that something outside keeps: call the function once before it is saved, if "
      "this is the state of an optimizer; an archive holds only results and tensors that were there before");
  tracer.commit();
  Archive archive;
  archive.variables = tracer.variables();
  archive.constants = tracer.constants();
  archive.graph = tracer.take_graph();
  simplified ? passes::simplify(*archive.graph) : passes::remove_dead_code(*archive.graph);
  for (size_t i = 0; i < archive.variables.size(); i++)
    archive.variables[i] = memory_of(archive.variables[i], *archive.graph->variables[i].value);
  for (size_t i = 0; i < archive.constants.size(); i++)
    archive.constants[i] = memory_of(archive.constants[i], *archive.graph->constants[i].value);
  // The file says nothing of where its graph ran.
  archive.graph->device = "cpu";
  for (auto* tensors : {&archive.variables, &archive.constants})
    for (Tensor& tensor : *tensors) tensor = eager::to_device(tensor, device::Device{});
  std::unordered_set<std::string> names;
  name_apart(archive.graph->variables, names);
  name_apart(archive.graph->constants, names);
  return archive;
}

void fit_archive(Archive& archive, std::vector<SizeSymbol> symbols, std::vector<int64_t> values,
                 std::vector<SizedGraph> others, const std::vector<SizedGraph>& checks) {
  std::vector<std::string> names;
  for (const SizeSymbol& symbol : symbols) names.push_back(symbol.name);
  std::vector<SizedGraph> traces = std::move(others);
  traces.insert(traces.begin(), {std::move(archive.graph), std::move(values)});
  archive.sizes = {std::move(symbols), fit_sizes(traces, names)};
  for (const SizedGraph& check : checks) {
    auto bound = bind_sizes(*traces[0].graph, archive.sizes, check.values);
    TW_CHECK(bound->outputs.size() == check.graph->outputs.size(), kValue, "for ", names[0], " = ",
             check.values[0], " it has ", check.graph->outputs.size(), " results, else ",
             bound->outputs.size());
    for (size_t i = 0; i < bound->outputs.size(); i++) {
      const ir::ValueImpl &got = *bound->outputs[i], &wanted = *check.graph->outputs[i];
      TW_CHECK(got.sizes == wanted.sizes && got.dtype == wanted.dtype, kValue, "for ", names[0], " = ",
               check.values[0], " result ", i, " is ", ir::type_text(wanted.dtype, wanted.sizes),
               ", and not ", ir::type_text(got.dtype, got.sizes), " as follows from the other sizes");
    }
  }
  archive.graph = bind_sizes(*traces[0].graph, archive.sizes, checks.at(0).values);
}

void save_archive(const std::string& path, Archive& archive) {
  TensorFile file;
  for (size_t i = 0; i < archive.variables.size(); i++)
    file.tensors.emplace_back(archive.graph->variables[i].name, archive.variables[i]);
  for (size_t i = 0; i < archive.constants.size(); i++)
    file.tensors.emplace_back(archive.graph->constants[i].name, archive.constants[i]);
  file.metadata = {{"format", kFormat},
                   {"version", kVersion},
                   {"graph", ir::print_graph(*archive.graph)},
                   {"results", archive.results},
                   {"result_names", list_of(archive.result_names)},
                   {"numbers", archive.numbers.json}};
  if (!archive.sizes.empty()) file.metadata.emplace_back("sizes", archive.sizes.json(*archive.graph));
  if (!archive.places.empty()) file.metadata.emplace_back("places", list_of(archive.places));
  write_tensor_file(path, file);
}

Archive load_archive(const std::string& path) {
  try {
    return read_archive(path);
  } catch (const Error& error) {
    // What does not verify is the file's fault, not ours.
    ErrorKind kind = error.kind() == ErrorKind::kOs || error.kind() == ErrorKind::kOutOfMemory
                         ? error.kind()
                         : ErrorKind::kValue;
    throw_error(kind, cat("load_graph: ", path, ": ", error.what()));
  }
}

}  // namespace tw::session
