// The test binaries' main: Catch2 2 wants it defined here, Catch2 3 brings its own.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#endif
#include "Catch.h"
