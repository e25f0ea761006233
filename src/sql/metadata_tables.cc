#include "sql/metadata_tables.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/function/table_function.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/storage/statistics/base_statistics.hpp>
#include <duckdb/storage/table_storage_info.hpp>

#include "base/text.h"
#include "sql/error.h"
#include "sql/missing_file.h"
#include "sql/schema_entry.h"

namespace timelake::sql {

namespace {

constexpr std::array<std::pair<std::string_view, MetadataKind>, 6> kKinds = {{
    {"snapshots", MetadataKind::kSnapshots},
    {"history", MetadataKind::kHistory},
    {"refs", MetadataKind::kRefs},
    {"manifests", MetadataKind::kManifests},
    {"files", MetadataKind::kFiles},
    {"partitions", MetadataKind::kPartitions},
}};

// Whether the rows belong to one snapshot; the others tell of all of them.
bool IsOfSnapshot(MetadataKind kind) {
  return kind == MetadataKind::kManifests || kind == MetadataKind::kFiles ||
         kind == MetadataKind::kPartitions;
}

std::string_view NameOf(MetadataKind kind) {
  for (const auto& [name, candidate] : kKinds) {
    if (candidate == kind) return name;
  }
  return "";
}

struct BindData : duckdb::TableFunctionData {
  MetadataKind kind = MetadataKind::kSnapshots;
  std::shared_ptr<const TableVersion> table;
  duckdb::optional_ptr<duckdb::TableCatalogEntry> entry;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    return duckdb::make_uniq<BindData>(*this);
  }
  bool Equals(const duckdb::FunctionData& other) const override {
    const auto& that = other.Cast<BindData>();
    return kind == that.kind && table->name == that.table->name &&
           table->number == that.table->number && table->snapshot == that.table->snapshot;
  }
};

// One thread reads.
struct State : duckdb::GlobalTableFunctionState {
  std::vector<duckdb::column_t> columns;
  MetadataSource source;
  std::vector<MetadataRow> rows;
  size_t next = 0;  // in `rows`
};

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext&,
                                                          duckdb::TableFunctionInitInput& input) {
  const auto& bind = input.bind_data->Cast<BindData>();
  auto state = duckdb::make_uniq<State>();
  state->columns.assign(input.column_ids.begin(), input.column_ids.end());
  state->source = MetadataRows(bind.kind, bind.table);
  return state;
}

void Scan(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
          duckdb::DataChunk& output) {
  const auto& bind = input.bind_data->Cast<BindData>();
  auto& state = input.global_state->Cast<State>();
  while (state.next == state.rows.size()) {
    if (context.IsInterrupted()) throw duckdb::InterruptException();
    state.next = 0;
    if (!ValueOrThrow(ExplainMissing(*bind.table, state.source(&state.rows)))) return;
  }
  const size_t count = std::min<size_t>(state.rows.size() - state.next, STANDARD_VECTOR_SIZE);
  for (size_t column = 0; column < state.columns.size(); ++column) {
    const duckdb::column_t id = state.columns[column];
    if (id >= state.rows[state.next].size()) continue;  // without contents, to count rows
    for (size_t row = 0; row < count; ++row) {
      output.SetValue(column, row, state.rows[state.next + row][id]);
    }
  }
  output.SetCardinality(count);
  state.next += count;
}

duckdb::virtual_column_map_t EmptyColumn() {
  duckdb::virtual_column_map_t columns;
  columns.insert(
      {duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", duckdb::LogicalType::BOOLEAN)});
  return columns;
}

duckdb::TableFunction MakeFunction() {
  duckdb::TableFunction function("timelake_metadata", {}, Scan, nullptr, Init);
  function.projection_pushdown = true;
  function.get_bind_info = [](const duckdb::optional_ptr<duckdb::FunctionData> data) {
    auto& entry = data->Cast<BindData>().entry;
    return duckdb::BindInfo(const_cast<duckdb::TableCatalogEntry&>(*entry));
  };
  function.get_virtual_columns = [](duckdb::ClientContext&,
                                    duckdb::optional_ptr<duckdb::FunctionData>) {
    return EmptyColumn();
  };
  function.to_string = [](duckdb::TableFunctionToStringInput& input) {
    const auto& bind = input.bind_data->Cast<BindData>();
    duckdb::InsertionOrderPreservingMap<duckdb::string> result;
    result["Table"] = fmt::format("{}${}", bind.table->name, NameOf(bind.kind));
    result["Version"] = std::to_string(bind.table->number);
    return result;
  };
  function.verify_serialization = false;
  return function;
}

class MetadataTable : public duckdb::TableCatalogEntry {
 public:
  MetadataTable(LakeSchema& schema, duckdb::CreateTableInfo& info, MetadataKind kind,
                std::shared_ptr<const TableVersion> version)
      : duckdb::TableCatalogEntry(schema.catalog, schema, info),
        kind_(kind),
        version_(std::move(version)) {}

  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext&,
                                                           duckdb::column_t) override {
    return nullptr;
  }
  duckdb::TableFunction GetScanFunction(
      duckdb::ClientContext&, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) override {
    auto bind = duckdb::make_uniq<BindData>();
    bind->kind = kind_;
    bind->table = version_;
    bind->entry = this;
    bind_data = std::move(bind);
    return MakeFunction();
  }
  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext&) override { return {}; }
  duckdb::virtual_column_map_t GetVirtualColumns() const override { return EmptyColumn(); }
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override { return {}; }

 private:
  const MetadataKind kind_;
  const std::shared_ptr<const TableVersion> version_;
};

}  // namespace

std::optional<MetadataName> ParseMetadataName(const std::string& name) {
  const size_t dollar = name.rfind('$');
  if (dollar == std::string::npos || dollar == 0) return std::nullopt;
  const std::string suffix = ToLowerAscii(name.substr(dollar + 1));
  for (const auto& [kind_name, kind] : kKinds) {
    if (suffix == kind_name) return MetadataName{name.substr(0, dollar), kind};
  }
  return std::nullopt;
}

std::unique_ptr<duckdb::TableCatalogEntry> MakeMetadataTable(
    LakeSchema& schema, const MetadataName& name, std::shared_ptr<const TableVersion> version) {
  if (version->time_travel && !IsOfSnapshot(name.kind)) {
    Throw(InvalidArgument(
        "{}${} shows all that the table's newest version knows: AT has no meaning there",
        version->name, NameOf(name.kind)));
  }
  duckdb::CreateTableInfo info(schema, fmt::format("{}${}", name.table, NameOf(name.kind)));
  for (const MetadataColumn& column : MetadataColumns(name.kind, *version)) {
    duckdb::ColumnDefinition definition(column.name, column.type);
    definition.SetComment(duckdb::Value(column.comment));
    info.columns.AddColumn(std::move(definition));
  }
  return std::make_unique<MetadataTable>(schema, info, name.kind, std::move(version));
}

}  // namespace timelake::sql
