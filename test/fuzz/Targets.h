// The fuzz targets: functions that take any bytes and must neither crash nor stay silent about what is wrong with them.
#ifndef TEST_FUZZ_TARGETS_H
#define TEST_FUZZ_TARGETS_H

#include <cstddef>
#include <cstdint>

namespace qfx::fuzz {

/// .qfx text: an error with a message, or a model that prints and parses back to itself.
void fuzzQfx(const uint8_t *data, size_t size);
/// A safetensors or .npy file: an error, or tensors whose bytes can be read and written.
void fuzzSafetensors(const uint8_t *data, size_t size);
/// A BackendConfig file: errors with messages, or a config that can be written and read back.
void fuzzJson(const uint8_t *data, size_t size);
/// A QConfigMapping file: the same.
void fuzzQConfig(const uint8_t *data, size_t size);

} // namespace qfx::fuzz

#endif // TEST_FUZZ_TARGETS_H
