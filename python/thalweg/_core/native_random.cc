#include "eager/batch_part.h"
#include "native.h"

namespace tw::py {

namespace pb = pybind11;
using eager::Generator;

namespace {

// What arg_parser.h looks for behind `generator=`.
pb::capsule handle_capsule(const Ref<Generator>& generator) {
  auto* owner = new Ref<Generator>(generator);
  pb::capsule capsule(owner->get(), "thalweg.Generator");
  PyCapsule_SetContext(capsule.ptr(), owner);
  PyCapsule_SetDestructor(capsule.ptr(), [](PyObject* object) {
    delete static_cast<Ref<Generator>*>(PyCapsule_GetContext(object));
  });
  return capsule;
}

struct GeneratorHandle {
  Ref<Generator> generator;
};

}  // namespace

void bind_random(pb::module_& m) {
  pb::class_<GeneratorHandle>(m, "GeneratorHandle")
      .def(pb::init([](uint64_t seed) { return GeneratorHandle{make_ref<Generator>(seed)}; }))
      .def("seed", [](const GeneratorHandle& h) { return h.generator->seed(); })
      .def("draws", [](const GeneratorHandle& h) { return h.generator->draws(); })
      .def("set_state", [](const GeneratorHandle& h, uint64_t seed,
                           uint64_t draws) { h.generator->set_state(seed, draws); })
      .def("capsule", [](const GeneratorHandle& h) { return handle_capsule(h.generator); });
  pb::class_<eager::BatchPart>(m, "BatchPart", "While it is open, random ops draw for a part of a batch.")
      .def(pb::init<int64_t, int64_t>(), pb::arg("size"), pb::arg("parts"))
      .def("begin", &eager::BatchPart::begin)
      .def("end", &eager::BatchPart::end);
  m.def("default_generator", [] { return GeneratorHandle{Ref<Generator>(&eager::default_generator())}; });
}

}  // namespace tw::py
