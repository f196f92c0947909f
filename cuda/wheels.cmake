# Where NVIDIA's libraries lie (cuda_lib, cudnn_lib, nccl_lib), and `vendor`, what of our sources is built over them: the
# parts over cuDNN and NCCL where their headers are there, else what stands in their place. Without the runtime and cuBLAS
# TW_CUDA_WHEELS is false.

execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/locate_wheels.py cuda
  OUTPUT_VARIABLE cuda_lines ERROR_VARIABLE cuda_error RESULT_VARIABLE cuda_status OUTPUT_STRIP_TRAILING_WHITESPACE)
set(TW_CUDA_WHEELS OFF)
if(NOT cuda_status EQUAL 0)
  return()
endif()
set(TW_CUDA_WHEELS ON)
foreach(name cuda cudnn nccl)
  string(TOUPPER ${name} upper)
  string(REGEX REPLACE ".*${upper}_LIB=([^\n]*).*" "\\1" ${name}_lib "${cuda_lines}")
endforeach()

file(GLOB vendor CONFIGURE_DEPENDS ${TW_CUDA_ROOT}/device/vendor/*.cc ${TW_CUDA_ROOT}/device/*cudnn/*.cc ${TW_CUDA_ROOT}/comm/vendor/*.cc
     ${TW_CUDA_ROOT}/comm/no_nccl/*.cc)
if(cudnn_lib)
  list(FILTER vendor EXCLUDE REGEX "/no_cudnn/")
else()
  list(FILTER vendor EXCLUDE REGEX "/cudnn/")
endif()
if(nccl_lib)
  list(FILTER vendor EXCLUDE REGEX "/no_nccl/")
else()
  list(FILTER vendor EXCLUDE REGEX "/comm/vendor/")
  list(FILTER TW_CUDA_HOST EXCLUDE REGEX "/cuda/comm/")
endif()
