# Libraries that come as wheels of the building Python: TBB, oneDNN, OpenBLAS, pybind11.

if(THALWEG_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
endif()

execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/locate_wheels.py
  OUTPUT_VARIABLE wheel_lines
  ERROR_VARIABLE wheel_error
  RESULT_VARIABLE wheel_status
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT wheel_status EQUAL 0)
  message(FATAL_ERROR "${wheel_error}")
endif()
string(REPLACE "\n" ";" wheel_lines "${wheel_lines}")
foreach(line IN LISTS wheel_lines)
  string(REGEX MATCH "^([A-Z0-9_]+)=(.*)$" matched "${line}")
  set(wheel_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

find_package(TBB CONFIG REQUIRED COMPONENTS tbb PATHS ${wheel_TBB_DIR} NO_DEFAULT_PATH)
find_package(dnnl CONFIG REQUIRED PATHS ${wheel_DNNL_DIR} NO_DEFAULT_PATH)

add_library(OpenBLAS::OpenBLAS SHARED IMPORTED)
set_target_properties(
  OpenBLAS::OpenBLAS
  PROPERTIES IMPORTED_LOCATION ${wheel_OPENBLAS_LIB}/libscipy_openblas.so
             IMPORTED_SONAME libscipy_openblas.so
             INTERFACE_INCLUDE_DIRECTORIES ${wheel_OPENBLAS_INCLUDE})

# Headers alone: cpp/comm/ucx_library.h loads the library where the extra `cluster` has installed it.
cmake_path(SET wheel_UCX_INCLUDE NORMALIZE ${wheel_UCX_API}/../..)
add_library(UCX::headers INTERFACE IMPORTED)
set_target_properties(UCX::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${wheel_UCX_INCLUDE})

if(THALWEG_PYTHON)
  set(PYBIND11_FINDPYTHON ON)
  find_package(pybind11 CONFIG REQUIRED PATHS ${wheel_PYBIND11_DIR} NO_DEFAULT_PATH)
endif()

# Where an installed module finds libthalweg.so (beside it), OpenBLAS (a run-time dependency) and, before
# `auditwheel repair` has put them into the wheel, TBB and oneDNN (in prefix/lib).
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/../../scipy_openblas32/lib;$ORIGIN/../../../..")
if(SKBUILD_STATE STREQUAL "editable")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
