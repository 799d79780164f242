// The few words of Catch2 that the kernel tests use, for the cross-compiled check, which has no Catch2 library.
#ifndef TEST_KERNELS_NEON_CATCH_H
#define TEST_KERNELS_NEON_CATCH_H

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace qfx::test {

struct NamedTest {
  const char *name;
  void (*run)();
};

inline std::vector<NamedTest> &getTests() {
  static std::vector<NamedTest> tests;
  return tests;
}

struct Registration {
  Registration(const char *name, void (*run)()) { getTests().push_back({name, run}); }
};

inline void require(bool good, const char *condition, const char *file, int line) {
  if (good)
    return;
  std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
  std::exit(1);
}

} // namespace qfx::test

#define QFX_JOIN2(a, b) a##b
#define QFX_JOIN(a, b) QFX_JOIN2(a, b)
#define TEST_CASE(name, tags)                                                                                          \
  static void QFX_JOIN(test, __LINE__)();                                                                              \
  static qfx::test::Registration QFX_JOIN(registration, __LINE__)(name, QFX_JOIN(test, __LINE__));                     \
  static void QFX_JOIN(test, __LINE__)()
#define TEMPLATE_TEST_CASE(name, tags, ...)                                                                            \
  template <class TestType> static void QFX_JOIN(test, __LINE__)();                                                    \
  template <class... Types> static int QFX_JOIN(registerAll, __LINE__)() {                                             \
    (qfx::test::getTests().push_back({name, QFX_JOIN(test, __LINE__) < Types >}), ...);                                \
    return 0;                                                                                                          \
  }                                                                                                                    \
  [[maybe_unused]] static int QFX_JOIN(registered, __LINE__) = QFX_JOIN(registerAll, __LINE__)<__VA_ARGS__>();          \
  template <class TestType> static void QFX_JOIN(test, __LINE__)()
#define REQUIRE(...) qfx::test::require(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK(...) REQUIRE(__VA_ARGS__)
#define CHECK_FALSE(...) REQUIRE(!(__VA_ARGS__))
// Never printed, but what it names counts as used.
#define INFO(...)                                                                                                      \
  do {                                                                                                                 \
    if (false)                                                                                                         \
      std::cerr << __VA_ARGS__;                                                                                        \
  } while (false)

#endif // TEST_KERNELS_NEON_CATCH_H
