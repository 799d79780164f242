# The five product dependencies, all from the system; minimum versions are those of Debian 12 (third_party/README.md).
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(xsimd REQUIRED) # its own version file refuses every other major version
if(xsimd_VERSION VERSION_LESS 8.1)
  message(FATAL_ERROR "qfx needs xsimd >= 8.1, found ${xsimd_VERSION}")
endif()

# LLVM: ADT and Support only, linked statically.  LLVMConfig.cmake of newer releases drags in LibEdit, CURL and friends
# for components we never link, so the static archive and its two system libraries are found directly.
find_program(QFX_LLVM_CONFIG NAMES llvm-config-14 llvm-config-19 llvm-config-18 llvm-config-17 llvm-config-16 llvm-config-15 llvm-config REQUIRED)
execute_process(COMMAND ${QFX_LLVM_CONFIG} --version OUTPUT_VARIABLE QFX_LLVM_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${QFX_LLVM_CONFIG} --includedir OUTPUT_VARIABLE QFX_LLVM_INCLUDES OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${QFX_LLVM_CONFIG} --link-static --libfiles support OUTPUT_VARIABLE QFX_LLVM_LIBS OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${QFX_LLVM_CONFIG} --link-static --system-libs support OUTPUT_VARIABLE QFX_LLVM_SYSTEM_LIBS OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${QFX_LLVM_CONFIG} --bindir OUTPUT_VARIABLE QFX_LLVM_BIN OUTPUT_STRIP_TRAILING_WHITESPACE)
if(QFX_LLVM_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "qfx needs LLVM >= 14, found ${QFX_LLVM_VERSION} (${QFX_LLVM_CONFIG})")
endif()
separate_arguments(QFX_LLVM_LIBS)
separate_arguments(QFX_LLVM_SYSTEM_LIBS)
add_library(qfx_llvm INTERFACE)
target_include_directories(qfx_llvm SYSTEM INTERFACE $<BUILD_INTERFACE:${QFX_LLVM_INCLUDES}>)
target_link_libraries(qfx_llvm INTERFACE ${QFX_LLVM_LIBS} ${QFX_LLVM_SYSTEM_LIBS} Threads::Threads)
if(QFX_BUILD_FUZZERS AND QFX_LLVM_VERSION VERSION_LESS 15) # see that header
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/test/fuzz/PlainVector.h>")
endif()
message(STATUS "LLVM ${QFX_LLVM_VERSION}: ${QFX_LLVM_LIBS}")
