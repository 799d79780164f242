// Exit codes, error printing, logging and progress of the tools.
#include "tools/common/Tool.h"

#include "ir/Text.h"
#include "kernels/isa/Isa.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace qfx::tool {

/// Codes of errors in what the command line names; any other is one in what a file says.
static constexpr llvm::StringLiteral kUsageCodes[] = {"file_read", "file_write", "usage"};

int reportError(llvm::StringRef toolName, llvm::Error err) {
  bool onlyUsage = true;
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err))) {
    if (!diagnostic.loc.file)
      llvm::errs() << toolName << ": ";
    printDiagnostic(llvm::errs(), diagnostic);
    onlyUsage &= llvm::is_contained(kUsageCodes, diagnostic.code);
  }
  return onlyUsage ? kBadUsage : kBadInput;
}

int reportUsage(llvm::StringRef toolName, const llvm::Twine &text) {
  llvm::errs() << toolName << ": error: " << text << '\n';
  return kBadUsage;
}

void reportWarning(llvm::StringRef toolName, const Diagnostic &warning) {
  if (!warning.loc.file)
    llvm::errs() << toolName << ": ";
  printDiagnostic(llvm::errs(), warning);
}

void removeForeignOptions() {
  // LLVM registers its common options (among them a `--stats`) when a command line is first parsed.
  const char *nothing[] = {"qfx"};
  llvm::cl::ParseCommandLineOptions(1, nothing, "", &llvm::nulls());
  std::vector<llvm::cl::Option *> foreign;
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (entry.getKey() != "help" && entry.getKey() != "h")
      foreign.push_back(entry.second);
  for (llvm::cl::Option *option : foreign)
    option->removeArgument();
}

/// One line of LLVM's about the command line, in our words: "tool: error: unknown flag '--fuze'".
static std::string rephrase(llvm::StringRef line, llvm::StringRef toolName) {
  line.consume_front(toolName);
  line.consume_front(": ");
  if (line.consume_front("Unknown command line argument "))
    return ("unknown flag " + line.split(".  Try:").first).str();
  if (line.consume_front("Did you mean "))
    return ("; did you mean " + line.take_while([](char c) { return c != '?'; }) + "?").str();
  if (line.consume_front("for the "))
    return ("for " + line).str();
  return (line.take_front(1).lower() + line.drop_front(std::min<size_t>(1, line.size()))).str();
}

bool parseCommandLine(int argc, char **argv, llvm::StringRef overview) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &os))
    return true;
  llvm::StringRef toolName = llvm::sys::path::filename(argv[0]);
  llvm::SmallVector<llvm::StringRef, 4> lines;
  llvm::StringRef(os.str()).split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string message;
  for (llvm::StringRef line : lines) {
    std::string ours = rephrase(line, toolName);
    if (!message.empty() && !startsWith(ours, "; "))
      message += "\n" + (toolName + ": error: ").str();
    message += ours;
  }
  if (!message.empty()) // values that do not parse LLVM reports itself
    llvm::errs() << toolName << ": error: " << message << '\n';
  return false;
}

static constexpr const char *kRooms[] = {"ir", "kernels", "backends", "passes", "tools"};

llvm::Error setLogLevels(llvm::StringRef text) {
  for (const char *room : kRooms)
    if (!spdlog::get(room)) {
      auto logger = spdlog::stderr_logger_st(room);
      logger->set_level(spdlog::level::warn);
      logger->set_pattern("[%n] [%l] %v");
    }
  if (text.empty())
    return llvm::Error::success();
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [room, level] = part.contains('=') ? part.split('=') : std::pair<llvm::StringRef, llvm::StringRef>("", part);
    auto parsed = spdlog::level::from_str(level.str());
    if (parsed == spdlog::level::off && level != "off")
      return error({}, "log level '{0}' is none of trace, debug, info, warning, error, critical, off", level).code("log_level");
    if (!room.empty() && !llvm::is_contained(kRooms, room))
      return error({}, "log room '{0}' is none of ir, kernels, backends, passes, tools", room).code("log_room");
    for (const char *name : kRooms)
      if (room.empty() || room == name)
        spdlog::get(name)->set_level(parsed);
  }
  return llvm::Error::success();
}

static std::string listSupportedIsas() {
  std::string names;
  for (auto isa : {kernels::Isa::Scalar, kernels::Isa::Avx2, kernels::Isa::AvxVnni, kernels::Isa::Avx512Vnni, kernels::Isa::NeonDot})
    if (kernels::isIsaSupported(isa))
      names += (names.empty() ? "" : ", ") + std::string(kernels::getIsaName(isa));
  return names;
}

llvm::Error selectIsa(llvm::StringRef name) {
  const char *fromEnvironment = std::getenv("QFX_ISA");
  llvm::StringRef wanted = name.empty() && fromEnvironment ? llvm::StringRef(fromEnvironment) : name;
  if (wanted.empty())
    return llvm::Error::success();
  kernels::Isa isa;
  if (!kernels::parseIsa(std::string_view(wanted.data(), wanted.size()), isa) || !kernels::isIsaSupported(isa))
    return error({}, "instruction set '{0}' is not one that this processor has: {1}", wanted, listSupportedIsas()).code("isa");
  static kernels::ScopedIsa *forced = nullptr; // lives as long as the process
  delete forced;
  forced = new kernels::ScopedIsa(isa);
  return llvm::Error::success();
}

llvm::Error checkThreads(unsigned threads) {
  if (threads >= 1 && threads <= 256)
    return llvm::Error::success();
  return error({}, "--threads is 1..256, got {0}", threads).code("usage");
}

int finishOutput(llvm::StringRef toolName, int code) {
  llvm::outs().flush();
  bool isWritten = !llvm::outs().has_error();
  if (!isWritten)
    code = reportUsage(toolName, "cannot write to stdout: " + llvm::outs().error().message());
  llvm::outs().clear_error(); // LLVM's streams abort where an error is left
  llvm::errs().clear_error();
  return code;
}

static double nowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressLine::ProgressLine(std::string label, bool quiet)
    : label(std::move(label)), isShown(!quiet && isatty(STDERR_FILENO)), startedSeconds(nowSeconds()) {}

ProgressLine::~ProgressLine() {
  if (isShown)
    llvm::errs() << "\r\033[K";
}

void ProgressLine::update(size_t done, size_t total) {
  if (!isShown)
    return;
  double seconds = nowSeconds() - startedSeconds;
  double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  llvm::errs() << '\r' << label << "  " << done;
  if (total)
    llvm::errs() << '/' << total;
  llvm::errs() << llvm::formatv("  {0:f1} batch/s", rate);
  if (total > done && rate > 0)
    llvm::errs() << llvm::formatv("  {0:f0} s left", static_cast<double>(total - done) / rate);
  llvm::errs() << "\033[K";
}

} // namespace qfx::tool
