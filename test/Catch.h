// Catch2 2.13 (Debian 12) or 3 (Debian 13) under one name.
#ifndef TEST_CATCH_H
#define TEST_CATCH_H

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

namespace Catch {
/// Version 2's name.
inline auto Contains(const std::string &text) { return Matchers::ContainsSubstring(text); }
} // namespace Catch
#else
#include <catch2/catch.hpp>
#endif

#endif // TEST_CATCH_H
