// The user's line, for traces and profiles: the innermost Python frame that is not of this package.
//
// A frame is told by its code object and the instruction that it is at. Which line that is, is looked up once
// for each such pair.
#include "native_origin.h"

#include <Python.h>
#include <frameobject.h>

#include <functional>
#include <unordered_map>

#include "native.h"

namespace tw::py {

namespace pb = pybind11;

namespace {

#if PY_VERSION_HEX < 0x030B0000  // where the interpreter counts instructions, not bytes, and hides nothing
int PyFrame_GetLasti(PyFrameObject* frame) { return frame->f_lasti < 0 ? -1 : 2 * frame->f_lasti; }
#endif

// Where this package's own code lies, with a slash at the end.
const std::string& package_folder() {
  static const std::string folder = [] {
    auto file = pb::module_::import("thalweg").attr("__file__").cast<std::string>();
    return file.substr(0, file.rfind('/') + 1);
  }();
  return folder;
}

std::string file_of(PyCodeObject* code) {
  return pb::reinterpret_borrow<pb::object>(code->co_filename).cast<std::string>();
}

class PythonOrigins final : public eager::OriginSource {
 public:
  ~PythonOrigins() override {
    pb::gil_scoped_acquire lock;
    for (auto& [code, own] : codes_) Py_DECREF(code);
  }

  int here(ir::StringTable& strings) override {
    pb::gil_scoped_acquire lock;
    PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      if (!is_own(code)) {
        int number = number_of_line(code, PyFrame_GetLasti(frame), strings);
        Py_DECREF(code);
        Py_DECREF(frame);
        return number;
      }
      PyFrameObject* caller = PyFrame_GetBack(frame);
      Py_DECREF(code);
      Py_DECREF(frame);
      frame = caller;
    }
    return 0;
  }

 private:
  // Codes are kept, so that their addresses stay theirs.
  bool is_own(PyCodeObject* code) {
    auto [at, fresh] = codes_.try_emplace(code, false);
    if (fresh) {
      Py_INCREF(code);
      at->second = file_of(code).starts_with(package_folder());
    }
    return at->second;
  }

  int number_of_line(PyCodeObject* code, int instruction, ir::StringTable& strings) {
    auto [at, fresh] = lines_.try_emplace({code, instruction}, 0);
    if (fresh) at->second = strings.intern(cat(file_of(code), ":", PyCode_Addr2Line(code, instruction)));
    return at->second;
  }

  struct Hash {
    size_t operator()(const std::pair<PyCodeObject*, int>& at) const {
      return std::hash<PyCodeObject*>()(at.first) * 31 + static_cast<size_t>(at.second);
    }
  };
  std::unordered_map<PyCodeObject*, bool> codes_;                       // whether they are the package's own
  std::unordered_map<std::pair<PyCodeObject*, int>, int, Hash> lines_;  // numbers in the one table
};

}  // namespace

std::unique_ptr<eager::OriginSource> python_origins() { return std::make_unique<PythonOrigins>(); }

}  // namespace tw::py
