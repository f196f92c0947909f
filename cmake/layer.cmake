# How a folder of cpp/ becomes an object library, and all of them one libthalweg.so.

set(THALWEG_LAYERS "" CACHE INTERNAL "Object libraries of libthalweg.so")

# tw_layer(NAME FILES file... [LINKS target...]): the object library thalweg_NAME. A folder without sources yet is no
# target: CMake has no empty object libraries.
function(tw_layer name)
  cmake_parse_arguments(layer "" "" "FILES;LINKS" ${ARGN})
  list(FILTER layer_FILES EXCLUDE REGEX "_test\\.cc$")
  if(NOT layer_FILES)
    message(STATUS "thalweg: no sources for ${name}")
    return()
  endif()
  add_library(thalweg_${name} OBJECT ${layer_FILES})
  target_link_libraries(thalweg_${name} PUBLIC thalweg_options ${layer_LINKS})
  set(THALWEG_LAYERS ${THALWEG_LAYERS} thalweg_${name} CACHE INTERNAL "")
endfunction()

# tw_folder(NAME [LINKS target...]): a layer of every .cc file of the calling folder.
function(tw_folder name)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  tw_layer(${name} FILES ${files} ${ARGN})
endfunction()

function(tw_shared_library)
  add_library(thalweg SHARED)
  foreach(layer IN LISTS THALWEG_LAYERS)
    target_sources(thalweg PRIVATE $<TARGET_OBJECTS:${layer}>)
  endforeach()
  set_target_properties(thalweg PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${THALWEG_MODULE_DIR})
  target_link_libraries(thalweg PUBLIC thalweg_options TBB::tbb PRIVATE DNNL::dnnl OpenBLAS::OpenBLAS)
  target_link_options(thalweg PRIVATE -Wl,-Bsymbolic-functions -Wl,--as-needed)
  if(NOT THALWEG_SANITIZE)
    target_link_options(thalweg PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS thalweg LIBRARY DESTINATION thalweg/_core)
endfunction()
