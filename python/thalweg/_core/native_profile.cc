// What thalweg.profiler drives.
#include <pybind11/stl.h>

#include "native.h"
#include "native_origin.h"
#include "session/profile.h"

namespace tw::py {

namespace pb = pybind11;
using session::Profile;
using session::ProfileLabel;
using session::Profiler;

namespace {

// The user's line as text.
class OriginText {
 public:
  OriginText() : origins_(python_origins()) {}
  std::string operator()() {
    pb::gil_scoped_acquire lock;
    return strings_[origins_->here(strings_)];
  }

 private:
  ir::StringTable strings_;
  std::unique_ptr<eager::OriginSource> origins_;
};

void start(bool shapes, bool stack) {
  session::ProfileOptions options;
  options.shapes = shapes;
  if (stack) options.origin = [text = std::make_shared<OriginText>()] { return (*text)(); };
  Profiler::get().start(std::move(options));
}

// (labels, events, names of threads), each event with the number of its label.
pb::tuple stop() {
  Profile profile = Profiler::get().stop();
  pb::list labels(profile.labels.size()), events(profile.events.size());
  for (size_t i = 0; i < profile.labels.size(); i++) {
    const ProfileLabel& label = profile.labels[i];
    labels[i] = pb::make_tuple(label.kind, label.name, label.module, label.origin, label.program,
                               label.stream, label.shapes, label.bytes);
  }
  for (size_t i = 0; i < profile.events.size(); i++) {
    const session::ProfileEvent& event = profile.events[i];
    events[i] = pb::make_tuple(event.label, event.thread, event.begin_ns, event.end_ns);
  }
  return pb::make_tuple(labels, events, profile.threads);
}

}  // namespace

void bind_profile(pb::module_& m) {
  m.def("profile_start", start, pb::arg("shapes"), pb::arg("stack"));
  m.def("profile_stop", stop);
  m.def("profile_module", Profiler::swap_module);
  m.def("profile_range", [](std::string kind, std::string name, int64_t begin_ns, int64_t end_ns) {
    Profiler::get().add_range({.kind = std::move(kind), .name = std::move(name)}, begin_ns, end_ns);
  });
}

}  // namespace tw::py
