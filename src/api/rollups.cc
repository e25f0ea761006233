#include "api/rollups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/rollup_refresh.h"
#include "base/civil_time.h"
#include "base/text.h"
#include "maintain/rollup_changes.h"
#include "sql/rollup/define.h"
#include "sql/work_engine.h"
#include "table/changes.h"
#include "table/load.h"
#include "table/rollup_position.h"
#include "table/rollup_properties.h"
#include "table/rollups.h"
#include "table/settings.h"

namespace timelake::api {
namespace {

using table::RollupDefinition;
using table::RollupResult;
using table::RollupStatement;
using table::TableName;

std::shared_ptr<table::Catalog> Borrowed(table::Catalog& catalog) {
  return {&catalog, [](table::Catalog*) {}};
}

// A month for buckets of an hour and more, so that files do not become tiny; as the Rust timelake.
Chunk ChunkOf(const table::RollupWidth& width) {
  return width.months > 0 || width.micros >= kMicrosPerHour ? Chunk::kMonth : Chunk::kDay;
}

std::string Canonical(const std::string& name) {
  std::string result = ToLowerAscii(name);
  if (result.starts_with("timelake.")) result = result.substr(9);
  if (result.find('.') == std::string::npos) std::replace(result.begin(), result.end(), '_', '-');
  if (result == "refresh-interval") return "rollup-refresh-interval";
  if (result == "chunk-interval") return "chunk";
  return result;
}

class Statement {
 public:
  Statement(table::Catalog& catalog, const RollupStatement& statement)
      : catalog_(catalog), statement_(statement) {}

  Result<std::vector<RollupResult>> Run() {
    if (statement_.kind == RollupStatement::Kind::kShow) return Show();
    TL_ASSIGN_OR_RAISE(name_, table::ParseTableName(statement_.name));
    RollupResult result;
    switch (statement_.kind) {
      case RollupStatement::Kind::kCreate: {
        TL_ASSIGN_OR_RAISE(result, Create());
        break;
      }
      case RollupStatement::Kind::kRefresh: {
        TL_ASSIGN_OR_RAISE(result, Refresh());
        break;
      }
      case RollupStatement::Kind::kAlter: TL_RETURN_NOT_OK(Alter()); break;
      default: {
        TL_ASSIGN_OR_RAISE(const bool there, Drop());
        if (!there) return std::vector<RollupResult>();
        break;
      }
    }
    result.rollup = name_.full();
    return std::vector<RollupResult>{std::move(result)};
  }

 private:
  // The rollup's handle; null: there is none, and that may be.
  Result<std::shared_ptr<table::Handle>> Find(bool may_be_missing) {
    auto opened = catalog_.Open(name_);
    if (!opened.ok()) {
      const bool missing = KindOf(opened.status()) == ErrorKind::kNotFound;
      if (missing && may_be_missing) return std::shared_ptr<table::Handle>();
      return WithContext(opened.status(), "rollup");
    }
    const auto& metadata = *(*opened)->known().metadata;
    TL_ASSIGN_OR_RAISE(const auto definition, table::ReadRollup(metadata));
    if (!definition && !metadata.properties.contains(table::kRollupSource)) {
      return InvalidArgument("table {} is not a rollup", name_.full());
    }
    return *opened;
  }

  Result<RollupResult> Create() {
    auto there = catalog_.Open(name_);
    if (!there.ok() && KindOf(there.status()) != ErrorKind::kNotFound) return there.status();
    if (there.ok() && statement_.if_not_exists) return RollupResult();
    if (there.ok()) {
      if (!statement_.or_replace) {
        return AlreadyExists("table {} already exists", name_.full());
      }
      TL_RETURN_NOT_OK(Find(false).status());  // no other table is replaced
    }
    sql::EngineOptions engine_options;
    engine_options.lake = Borrowed(catalog_);
    TL_ASSIGN_OR_RAISE(auto engine, sql::WorkEngine::Take(std::move(engine_options)));
    TL_ASSIGN_OR_RAISE(const auto rollup,
                       sql::DefineRollup(*engine, catalog_, name_.full(), statement_.select,
                                         statement_.name_space));
    TL_ASSIGN_OR_RAISE(const auto options, Options(rollup));
    TL_RETURN_NOT_OK(sql::GridOf(*engine, rollup.definition.width).status());
    engine.Return();
    TL_ASSIGN_OR_RAISE(auto draft, catalog_.MakeDraft(name_, rollup.schema, options));
    for (auto& [key, value] : table::ToProperties(rollup.definition, rollup.fits_peer)) {
      draft.metadata.properties[key] = value;
    }
    if (there.ok()) {
      TL_RETURN_NOT_OK(table::DropWithRollups(catalog_, name_, /*if_exists=*/true,
                                              /*purge=*/false, /*cascade=*/false));
    }
    TL_RETURN_NOT_OK(table::CommitCreate(*draft.handle, draft.metadata).status());
    catalog_.Keep(name_, draft.handle);
    return Refresh();
  }

  // Enters it in its source's list, where a create that was interrupted has not.
  Status Relink(const table::Handle& handle) {
    const auto& metadata = *handle.known().metadata;
    TL_ASSIGN_OR_RAISE(const auto definition, table::ReadRollup(metadata));
    if (!definition) return Status::OK();
    TL_ASSIGN_OR_RAISE(const auto source_name, table::ParseTableName(definition->source));
    const auto source = catalog_.Open(source_name);
    if (!source.ok()) return WithContext(source.status(), "rollup " + name_.full());
    return table::LinkRollup(**source, name_.full(),
                             !metadata.properties.contains(table::kRollupDefinition));
  }

  Result<TableOptions> Options(const sql::NewRollup& rollup) const {
    TableOptions options;
    options.time_column = rollup.definition.bucket;
    options.series_key = rollup.definition.keys;
    options.chunk = ChunkOf(rollup.definition.width);
    options.dedup = true;
    for (const auto& [name, value] : statement_.settings) {
      const std::string canonical = Canonical(name);
      if (!value) return InvalidArgument("setting {} has no value", name);
      if (canonical == "chunk") {
        TL_ASSIGN_OR_RAISE(options.chunk, table::ParseChunk(ToLowerAscii(*value)));
      } else if (canonical == "retention") {
        options.retention = *value;
      } else {
        TL_RETURN_NOT_OK(table::CheckSetting(canonical, *value, table::kAtTable).status());
        options.properties[canonical] = *value;
      }
    }
    return options;
  }

  Result<RollupResult> Refresh() {
    RefreshOptions options;
    options.full = statement_.full;
    options.max_bytes = statement_.max_bytes;
    options.cancelled = statement_.cancelled;
    TL_ASSIGN_OR_RAISE(const auto handle, Find(false));
    TL_RETURN_NOT_OK(Relink(*handle));
    TL_ASSIGN_OR_RAISE(const auto report, RefreshRollup(catalog_, name_.full(), options));
    RollupResult result;
    result.rows = report.rows;
    result.buckets = report.ranges;
    result.left = report.left;
    result.changed = report.changed;
    return result;
  }

  Status Alter() {
    TL_ASSIGN_OR_RAISE(const auto handle, Find(false));
    std::map<std::string, std::optional<std::string>> settings;
    for (const auto& [name, value] : statement_.settings) settings[Canonical(name)] = value;
    return table::CommitProperties(*handle, settings).status();
  }

  Result<bool> Drop() {
    TL_ASSIGN_OR_RAISE(const auto handle, Find(statement_.if_exists));
    if (!handle) return false;
    TL_RETURN_NOT_OK(table::DropWithRollups(catalog_, name_, statement_.if_exists,
                                            /*purge=*/false, /*cascade=*/false));
    return true;
  }

  Result<std::vector<RollupResult>> Show() {
    std::vector<RollupResult> results;
    TL_ASSIGN_OR_RAISE(const auto spaces, catalog_.Namespaces());
    for (const auto& space : spaces) {
      TL_ASSIGN_OR_RAISE(const auto tables, catalog_.Tables(space));
      for (const auto& table : tables) {
        auto opened = catalog_.Open({space, table});
        if (!opened.ok()) continue;  // dropped meanwhile, or damaged: `ls` and queries say how
        auto definition = table::ReadRollup(*(*opened)->known().metadata);
        if (!definition.ok() || !*definition) continue;
        results.push_back(Describe(**opened, **definition));
      }
    }
    return results;
  }

  RollupResult Describe(const table::Handle& handle, const RollupDefinition& definition) {
    const auto& metadata = *handle.known().metadata;
    RollupResult result;
    result.rollup = handle.name();
    result.source = definition.source;
    result.width = table::WidthText(definition.width);
    if (!definition.width.zone.empty()) result.width += " " + definition.width.zone;
    result.keys = definition.keys;
    for (const auto& aggregate : definition.aggregates) {
      std::vector<std::string> arguments = {aggregate.argument.empty() ? "*" : aggregate.argument};
      const auto time = table::TimeArgument(aggregate.kind);
      if (time)
        arguments.insert(arguments.begin() + static_cast<ptrdiff_t>(*time), definition.time);
      result.aggregates.push_back(fmt::format("{}({}) AS {}", table::RollupKindName(aggregate.kind),
                                              Join(arguments, ", "), aggregate.name));
    }
    result.filter = Join(definition.filter, " AND ");
    const auto text = [&](const char* key, const char* otherwise) {
      const auto found = metadata.properties.find(key);
      return found == metadata.properties.end() ? std::string(otherwise) : found->second;
    };
    result.refresh_interval = text("timelake.rollup-refresh-interval", "1m");
    result.retention = text(table::kRetention, "");
    const auto position = table::ReadPosition(metadata);
    if (position) result.source_sequence = position->sequence;
    result.stale = true;
    const auto source = table::ParseTableName(definition.source);
    if (const auto opened = source.ok() ? catalog_.Open(*source)
                                        : Result<std::shared_ptr<table::Handle>>(source.status());
        opened.ok()) {
      const auto behind =
          maintain::IsBehind((*opened)->env(), *(*opened)->known().metadata, metadata);
      result.stale = !behind.ok() || *behind;
    }
    return result;
  }

  table::Catalog& catalog_;
  const RollupStatement& statement_;
  TableName name_;
};

}  // namespace

Result<std::vector<RollupResult>> RunRollupStatement(table::Catalog& catalog,
                                                     const RollupStatement& statement) {
  return Statement(catalog, statement).Run();
}

}  // namespace timelake::api
