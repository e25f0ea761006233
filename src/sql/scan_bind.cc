#include "sql/scan_bind.h"

#include <algorithm>
#include <utility>

#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/table_filter.hpp>

#include "sql/filters.h"
#include "sql/scan_function.h"

namespace timelake::sql {

bool ScanBindData::Equals(const duckdb::FunctionData& other) const {
  const auto& that = other.Cast<ScanBindData>();
  const auto same_test = [](const scan::ColumnTest& a, const scan::ColumnTest& b) {
    return a.field_id == b.field_id && a.op == b.op && a.values == b.values;
  };
  const auto same_list = [](const PushedFilter& a, const PushedFilter& b) {
    return a.field->id == b.field->id && a.filter->Equals(*b.filter);
  };
  return table->name == that.table->name && table->number == that.table->number &&
         table->snapshot == that.table->snapshot && aggregates == that.aggregates &&
         table->rewrite == that.table->rewrite && table->answered == that.table->answered &&
         table->from_metadata == that.table->from_metadata &&
         std::equal(predicate.all_of.begin(), predicate.all_of.end(), that.predicate.all_of.begin(),
                    that.predicate.all_of.end(), same_test) &&
         std::equal(in_lists.begin(), in_lists.end(), that.in_lists.begin(), that.in_lists.end(),
                    same_list);
}

std::shared_ptr<const TableVersion> TableOf(const duckdb::LogicalGet& get) {
  return get.bind_data->Cast<ScanBindData>().table;
}

void SetTable(duckdb::LogicalGet& get, std::shared_ptr<const TableVersion> table) {
  get.bind_data->Cast<ScanBindData>().table = std::move(table);
}

const scan::Predicate& PruningOf(const duckdb::LogicalGet& get) {
  return get.bind_data->Cast<ScanBindData>().predicate;
}

std::vector<PushedFilter> FiltersOf(const duckdb::LogicalGet& get) {
  const auto& bind = get.bind_data->Cast<ScanBindData>();
  std::vector<PushedFilter> filters = bind.in_lists;
  const auto& fields = bind.table->schema->fields;
  for (const auto& [column, filter] : get.table_filters.filters) {
    if (column >= fields.size()) continue;
    filters.push_back(
        {&fields[column], std::shared_ptr<const duckdb::TableFilter>(filter->Copy().release())});
  }
  return filters;
}

void MakeOneRow(duckdb::LogicalGet& get, std::shared_ptr<const TableVersion> table) {
  get.table_filters.filters.clear();
  get.projection_ids.clear();
  get.ClearColumnIds();
  get.AddColumnId(duckdb::COLUMN_IDENTIFIER_EMPTY);
  auto& bind = get.bind_data->Cast<ScanBindData>();
  bind.predicate.all_of.clear();
  bind.in_lists.clear();
  bind.order.reset();
  bind.table = std::move(table);
}

void AddPruningTest(duckdb::LogicalGet& get, scan::ColumnTest test) {
  AddTest(std::move(test), &get.bind_data->Cast<ScanBindData>().predicate);
}

void SetJoined(duckdb::LogicalGet& get) { get.bind_data->Cast<ScanBindData>().joined = true; }

bool AggregateWhileReading(duckdb::LogicalGet& get, ScanAggregates aggregates) {
  auto& bind = get.bind_data->Cast<ScanBindData>();
  const auto& fields = bind.table->schema->fields;
  if (bind.aggregates || get.dynamic_filters || get.extra_info.sample_options) return false;
  std::vector<PushedFilter> filters;
  for (const auto& [column, filter] : get.table_filters.filters) {
    if (column >= fields.size()) return false;
    if (auto applied = Applied(*filter)) filters.push_back({&fields[column], applied});
  }
  bind.in_lists.insert(bind.in_lists.end(), filters.begin(), filters.end());
  get.table_filters.filters.clear();
  get.projection_ids.clear();
  get.ClearColumnIds();
  for (size_t i = 0; i < aggregates.types.size(); ++i) get.AddColumnId(i);
  get.returned_types.assign(aggregates.types.begin(), aggregates.types.end());
  get.names.assign(aggregates.names.begin(), aggregates.names.end());
  bind.aggregates = std::make_shared<const ScanAggregates>(std::move(aggregates));
  return true;
}

void GiveWholeGroups(duckdb::LogicalGet& get) {
  auto& bind = get.bind_data->Cast<ScanBindData>();
  auto aggregates = std::make_shared<ScanAggregates>(*bind.aggregates);
  aggregates->whole = true;
  bind.aggregates = std::move(aggregates);
}

const ScanAggregates* AggregatesOf(const duckdb::LogicalGet& get) {
  return get.bind_data->Cast<ScanBindData>().aggregates.get();
}

void LimitBuckets(duckdb::LogicalGet& get, BucketLimit limit) {
  get.bind_data->Cast<ScanBindData>().buckets = limit;
}

bool BucketsLimited(const duckdb::LogicalGet& get) {
  return get.bind_data->Cast<ScanBindData>().buckets.has_value();
}

duckdb::column_t RowIdColumn() { return duckdb::VIRTUAL_COLUMN_START + 4096; }

duckdb::unique_ptr<duckdb::FunctionData> MakeScanBindData(std::shared_ptr<const TableVersion> table,
                                                          duckdb::TableCatalogEntry* entry) {
  auto bind = duckdb::make_uniq<ScanBindData>();
  bind->table = std::move(table);
  bind->entry = entry;
  return bind;
}

}  // namespace timelake::sql
