# The compiler: standard, optimisation, warnings, sanitizers, ccache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_UNITY_BUILD OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
# Kernels need -O3 (a loop behind a function pointer is ten times slower at -O2).
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

add_library(thalweg_options INTERFACE)
target_include_directories(thalweg_options INTERFACE ${CMAKE_SOURCE_DIR}/cpp)
target_compile_options(
  thalweg_options
  INTERFACE -Wall
            -Wextra
            $<$<BOOL:${THALWEG_DEV}>:-Werror>
            -fno-math-errno
            -fno-trapping-math
            -ffp-contract=fast
            # Everything in cpp/ is visible to the binding and the tests, but calls within libthalweg.so are direct.
            -fno-semantic-interposition
            -fno-plt)

if(THALWEG_SANITIZE)
  # Whole program: the options also reach executables and modules. target_clones needs ifunc resolvers, which run
  # before the sanitizer is ready: headers leave them out where TW_SANITIZE is defined.
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g -fno-omit-frame-pointer -DNDEBUG")
  add_compile_options(-fsanitize=${THALWEG_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${THALWEG_SANITIZE})
  add_compile_definitions(TW_SANITIZE)
  if(THALWEG_SANITIZE STREQUAL "thread")
    add_compile_definitions(TW_SANITIZE_THREAD)
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source are hashed relative to it, so that several checkouts share objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
