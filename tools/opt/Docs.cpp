// Markdown from rows.
#include "tools/opt/Docs.h"

#include "backends/config/ConfigCodes.h"
#include "backends/config/QConfigMapping.h"
#include "ir/Ops.h"
#include "ir/Text.h"
#include "tools/common/Tool.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace qfx::tool {

/// An alias as its name, else `Class(argument=value, ...)`; a bare class as `Class`.
static std::string formatObserver(const std::optional<ObserverSpec> &spec) {
  if (!spec)
    return "none";
  Argument form = spec->toArgument();
  if (form.isString())
    return "`" + form.getString() + "`";
  std::vector<std::string> arguments;
  for (const auto &[key, value] : form.getEntries())
    if (key == "observer")
      arguments.push_back("observer=" + (value.isString() ? value.getString() : toString(value, ArgumentStyle::Repr)));
    else if (key != "class")
      arguments.push_back(key + "=" + toString(value, ArgumentStyle::Repr));
  return "`" + form.find("class")->getString() + "(" + llvm::join(arguments, ", ") + ")`";
}

static void printQConfigs(llvm::raw_ostream &os) {
  os << "| qconfig | activation | weight |\n|---|---|---|\n";
  for (const std::string &name : getQConfigAliasNames()) {
    QConfig qconfig = *findQConfigAlias(name);
    os << "| `" << name << "` | " << formatObserver(qconfig.activation) << " | " << formatObserver(qconfig.weight) << " |\n";
  }
}

static void printQConfigDefaults(llvm::raw_ostream &os) {
  os << "| backend | version | activation | weight |\n|---|---|---|---|\n";
  auto print = [&](llvm::StringRef backend, llvm::StringRef version, llvm::Expected<QConfig> qconfig) {
    QConfig value = llvm::cantFail(std::move(qconfig));
    os << "| " << backend << " | " << version << " | " << formatObserver(value.activation) << " | " << formatObserver(value.weight) << " |\n";
  };
  for (llvm::StringRef backend : {"x86", "fbgemm", "qnnpack", "onednn"}) {
    print(backend, "0", getDefaultQConfig(backend));
    print(backend, "QAT 0", getDefaultQatQConfig(backend, 0));
    print(backend, "QAT 1", getDefaultQatQConfig(backend, 1));
  }
}

static llvm::StringRef getTopicName(ConfigTopic topic) {
  switch (topic) {
  case ConfigTopic::Document:
    return "the document";
  case ConfigTopic::Patterns:
    return "patterns and names";
  case ConfigTopic::DTypes:
    return "dtypes";
  case ConfigTopic::Entries:
    return "entries";
  case ConfigTopic::Mapping:
    return "qconfig mappings";
  case ConfigTopic::Custom:
    return "custom configs";
  }
  llvm_unreachable("all topics handled");
}

static void printConfigErrors(llvm::raw_ostream &os) {
  os << "| about | code | what is wrong |\n|---|---|---|\n";
  for (const ConfigCode &row : getConfigCodes())
    os << "| " << getTopicName(row.topic) << " | `" << row.code << "`" << (row.isWarning ? " (warning)" : "") << " | " << row.text << " |\n";
}

namespace {
struct DocsTable {
  llvm::StringLiteral name;
  void (*print)(llvm::raw_ostream &);
};
} // namespace

static constexpr DocsTable kTables[] = {{llvm::StringLiteral("qconfigs"), printQConfigs},
                                        {llvm::StringLiteral("qconfig-defaults"), printQConfigDefaults},
                                        {llvm::StringLiteral("config-errors"), printConfigErrors}};

int printDocs(llvm::StringRef toolName, llvm::StringRef table) {
  std::vector<std::string> names;
  for (const DocsTable &row : kTables) {
    if (row.name == table) {
      row.print(llvm::outs());
      return kDone;
    }
    names.push_back(row.name.str());
  }
  return reportUsage(toolName, "--print-docs is one of " + llvm::join(names, ", ") + ", got '" + table + "'");
}

} // namespace qfx::tool
