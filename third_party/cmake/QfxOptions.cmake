# Build options and the flags every qfx target shares.
option(QFX_BUILD_TESTS "build the unit, property and text tests" ON)
option(QFX_BUILD_FUZZERS "build the libFuzzer targets (needs clang)" OFF)
option(QFX_ASSERTIONS "keep assert() in optimized builds" OFF)
option(QFX_PRECOMPILE "precompile the standard and LLVM headers: a faster first build; ccache cannot cache it" OFF)
option(QFX_COVERAGE "instrument for gcov" OFF)
set(QFX_SANITIZE "" CACHE STRING "sanitizers for every target, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(QFX_CCACHE ccache)
if(QFX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${QFX_CCACHE})
endif()

# -O2: -O3 makes no measurable difference outside the kernels (whose hot files choose -O2 themselves), costs build time and
# wakes false alarms of g++ 12 about vectors of variants.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")

# Bits must not depend on the compiler's taste: no contraction of a*b+c anywhere.
add_compile_options(-ffp-contract=off)
set(QFX_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12's false alarms inside libstdc++'s string operator+ (GCC bug 105651) and LLVM's formatv.
  list(APPEND QFX_WARNINGS -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(QFX_PRECOMPILE)
  # g++ 12 sees more false alarms through a precompiled header (in std::string::resize).
  list(REMOVE_ITEM QFX_WARNINGS -Werror)
  list(APPEND QFX_WARNINGS -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(QFX_SANITIZE)
  add_compile_options(-fsanitize=${QFX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${QFX_SANITIZE})
endif()
if(QFX_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(QFX_ASSERTIONS)
  foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
    string(REGEX REPLACE "[-/]DNDEBUG" "" CMAKE_CXX_FLAGS_${config} "${CMAKE_CXX_FLAGS_${config}}")
  endforeach()
endif()
