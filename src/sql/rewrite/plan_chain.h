#pragma once

#include <map>
#include <optional>
#include <vector>

#include <duckdb/planner/column_binding.hpp>
#include <duckdb/planner/expression.hpp>
#include <duckdb/planner/logical_operator.hpp>
#include <duckdb/planner/operator/logical_get.hpp>

namespace timelake::sql {

// CTEs of a plan that are referred to exactly once, by index: looked through like a sub-query.
using SingleCtes = std::map<duckdb::idx_t, duckdb::LogicalOperator*>;
SingleCtes FindSingleCtes(duckdb::LogicalOperator& plan);

// A chain of filters and projections down to a scan of one of our tables.
class PlanChain {
 public:
  // `top` is the first operator of the chain. Nothing if another kind of operator stands in it.
  static std::optional<PlanChain> Make(duckdb::LogicalOperator& top, const SingleCtes& ctes);

  duckdb::LogicalGet& get() const { return *get_; }

  // The table's column that an expression above the chain is, unchanged.
  std::optional<duckdb::idx_t> Column(const duckdb::Expression& expression) const;

  // The conditions of its filters.
  std::vector<const duckdb::Expression*> Conditions() const;

  // Whether all columns that the expression uses are among `columns` of the table; nothing that
  // depends on more than them.
  bool UsesOnly(const duckdb::Expression& expression,
                const std::vector<duckdb::idx_t>& columns) const;

 private:
  std::vector<duckdb::LogicalOperator*> operators_;         // from the top
  std::map<duckdb::idx_t, duckdb::LogicalOperator*> ctes_;  // by the index of the reference
  duckdb::LogicalGet* get_ = nullptr;
};

}  // namespace timelake::sql
