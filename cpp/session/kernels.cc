#include "session/kernels.h"

#include "eager/dispatch.h"
#include "ir/layouts.h"
#include "ops/random_part.h"
#include "session/boxing_kernel.h"
#include "session/row_program.h"

namespace tw::session {

namespace {

class NodeKernel final : public runtime::LaunchKernel {
 public:
  // `sizes`: of what a random op draws.
  NodeKernel(const ir::OpDef& def, device::DeviceType device, const void* attributes, const Dims& sizes = {})
      : def_(def), attrs_(def.attr_type, attributes), sizes_(sizes) {
    kernel = eager::kernel_of(def, device);
    this->attributes = attrs_.get();
    random_key_offset = def.random_key_offset;
  }

  void write_number(const plan::Lifted& where, const Scalar& value) override {
    const ir::Param& param = def_.schema.params[where.param];
    if (where.item < 0)
      return ir::write_attr(param.field, attrs_.get(), as_attr(param.attr_kind, value), def_.name(),
                            param.name.c_str());
    void* list = static_cast<char*>(attrs_.get()) + param.field.offset;
    if (param.attr_kind == ir::AttrKind::kIntList) {
      (*static_cast<IntList*>(list))[where.item] = value.to_int();
    } else {
      (*static_cast<ir::FloatList*>(list))[where.item] = value.to_double();
    }
  }

  void set_part(int64_t part) override {
    for (const ir::Param& param : def_.schema.params) {
      if (param.name != "_part") continue;
      auto& place = *reinterpret_cast<ir::FloatList*>(static_cast<char*>(attrs_.get()) + param.field.offset);
      for (size_t d = 0; 2 * d < place.size(); d++)
        if (ops::whole_size(place, d) != sizes_[d]) place[d] = static_cast<double>(part * sizes_[d]);
    }
  }

 private:
  static ir::AttrValue as_attr(ir::AttrKind kind, const Scalar& value) {
    if (kind == ir::AttrKind::kInt) return value.to_int();
    if (kind == ir::AttrKind::kFloat) return value.to_double();
    return value;
  }

  const ir::OpDef& def_;
  ir::AttrBox attrs_;
  Dims sizes_;
};

}  // namespace

// A program whose ops have no kernel on its device is refused when it is made.
void GraphKernels::check_kernel(const ir::OpDef& def, const plan::Launch& launch) const {
  if (eager::kernel_of(def, device_)) return;
  const std::string& origin = root_.strings[launch.origin];
  TW_FAIL(kNotImplemented, def.name(), ": there is no kernel for device ", root_.device,
          origin.empty() ? "" : cat(" (at ", origin, ")"));
}

std::unique_ptr<runtime::LaunchKernel> GraphKernels::bind(const plan::Launch& launch) {
  if (launch.node >= 0) {
    const ir::Node& node = *graph_.nodes[launch.node];
    if (node.def->schema.name == "by_rows") return make_row_kernel(node);
    if (ir::is_boxing_part(*node.def))
      return make_boxing_kernel(node, root_.strings[node.origin], agreement());
    check_kernel(*node.def, launch);
    return std::make_unique<NodeKernel>(*node.def, device_, node.attrs.get(),
                                        node.outputs.empty() ? Dims() : node.outputs[0]->sizes);
  }
  const ir::OpDef& def = ir::registry().get(launch.op);
  check_kernel(def, launch);
  return std::make_unique<NodeKernel>(def, device_, def.defaults());
}

std::unique_ptr<runtime::KernelSource> GraphKernels::body(const plan::Launch& launch, int body) {
  const ir::Graph& region = *graph_.nodes[launch.node]->regions[body];
  return std::unique_ptr<GraphKernels>(new GraphKernels(region, root_, agreement()));
}

const std::shared_ptr<Agreement>& GraphKernels::agreement() {
  if (!agreement_) agreement_ = std::make_shared<Agreement>(root_);
  return agreement_;
}

}  // namespace tw::session
