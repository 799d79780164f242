// Reads shape lists.
#include "tools/bench/Shapes.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace qfx::bench {

/// Parses `key=value` with a positive (or, for padding, non-negative) value up to 2^16.
static bool parsePair(const std::string &word, std::string &key, int64_t &value) {
  size_t equals = word.find('=');
  if (equals == std::string::npos)
    return false;
  key = word.substr(0, equals);
  const char *end = word.data() + word.size();
  auto result = std::from_chars(word.data() + equals + 1, end, value);
  return result.ec == std::errc() && result.ptr == end && value >= (key == "padding" ? 0 : 1) && value <= (1 << 16);
}

static void setSquare(int64_t (&axes)[3], int64_t value) { axes[1] = axes[2] = value; }

static bool setField(Layer &layer, const std::string &key, int64_t value) {
  if (key == "count")
    layer.count = value;
  else if (!layer.isConv)
    (key == "m" ? layer.m : key == "n" ? layer.n : layer.k) = value;
  else if (key == "ic")
    layer.conv.inChannels = value;
  else if (key == "oc")
    layer.conv.outChannels = value;
  else if (key == "kernel")
    setSquare(layer.conv.kernel, value);
  else if (key == "stride")
    setSquare(layer.conv.stride, value);
  else if (key == "padding")
    setSquare(layer.conv.padding, value);
  else if (key == "groups")
    layer.conv.groups = value;
  else if (key == "in")
    layer.size = value;
  else
    return false;
  return layer.isConv || key == "count" || key == "m" || key == "n" || key == "k";
}

static bool isComplete(const Layer &layer) {
  const kernels::ConvShape &conv = layer.conv;
  if (!layer.isConv)
    return layer.m && layer.n && layer.k;
  return conv.inChannels && conv.outChannels && conv.inChannels % conv.groups == 0 &&
         conv.outChannels % conv.groups == 0 && layer.outSize() > 0;
}

/// Whether every matrix of the layer, the im2col matrix included, stays below 2 GB.
static bool isMeasurable(const Layer &layer) {
  const kernels::ConvShape &conv = layer.conv;
  double m = double(layer.m), n = double(layer.n), k = double(layer.k), input = m * k;
  if (layer.isConv) {
    m = double(layer.outSize()) * double(layer.outSize());
    n = double(conv.outChannels);
    k = double(conv.kernel[1]) * double(conv.kernel[2]) * double(conv.groupInChannels());
    input = double(layer.size) * double(layer.size) * double(conv.inChannels);
  }
  constexpr double kMost = 2e9;
  return m * k < kMost && n * k < kMost && m * n < kMost && input < kMost && k < double(1 << 24);
}

std::vector<Layer> readLayers(const std::string &path, std::string &error) {
  std::vector<Layer> layers;
  std::ifstream file(path);
  if (!file) {
    error = "cannot read '" + path + "'";
    return layers;
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string kind, word;
    if (!(words >> kind))
      continue;
    Layer layer;
    layer.isConv = kind == "conv";
    layer.text = kind;
    bool good = layer.isConv || kind == "linear";
    while (good && words >> word) {
      std::string key;
      int64_t value = 0;
      good = parsePair(word, key, value) && setField(layer, key, value);
      if (key != "count")
        layer.text += " " + word;
    }
    if (!good || !isComplete(layer)) {
      error = path + ":" + std::to_string(number) + ": expected 'linear m= n= k=' or 'conv ic= oc= kernel= stride= " +
              "padding= groups= in=' with positive numbers, found '" + line + "'";
      return {};
    }
    if (!isMeasurable(layer)) {
      error = path + ":" + std::to_string(number) + ": layer too large to measure: '" + line + "'";
      return {};
    }
    layers.push_back(layer);
  }
  if (layers.empty())
    error = "no layers in '" + path + "'";
  return layers;
}

} // namespace qfx::bench
