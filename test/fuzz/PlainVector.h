// Included before everything else in the fuzz build: libstdc++ 12's vector without constexpr members.  clang instantiates those as soon as
// they are named, which LLVM 14's JSON.h does while its element type is still incomplete (mended upstream in LLVM 15).
#ifndef TEST_FUZZ_PLAINVECTOR_H
#define TEST_FUZZ_PLAINVECTOR_H

#include <memory>
#include <string>
#ifdef _GLIBCXX20_CONSTEXPR
#pragma push_macro("_GLIBCXX20_CONSTEXPR")
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_a1_of_bits // declared constexpr elsewhere; the general template serves bits as well
#include <vector>
#undef __fill_a1
#pragma pop_macro("_GLIBCXX20_CONSTEXPR")
#endif

#endif // TEST_FUZZ_PLAINVECTOR_H
