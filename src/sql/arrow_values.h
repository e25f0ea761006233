#pragma once

#include <cstdint>

#include <arrow/array/data.h>
#include <duckdb/common/types/vector.hpp>

// Parts of arrow_to_duckdb.cc. `start` counts from the beginning of the buffers: the array's own
// offset is in it already.

namespace timelake::sql {

// Null bits of rows [start, start + count).
void ConvertValidity(const arrow::ArrayData& data, int64_t start, duckdb::idx_t count,
                     duckdb::Vector& out);

// Whether fixed-width values of `out` may stay in the Arrow buffer. Below a list vector they may
// not: DuckDB grows those. The bytes of strings always stay.
enum class Borrow { kNo, kYes };

// Values and null bits of any supported type. The caller keeps the Arrow memory alive.
void ConvertValues(const arrow::ArrayData& data, int64_t start, duckdb::idx_t count,
                   duckdb::Vector& out, Borrow borrow);

// One string, binary or fixed-size value; the bytes stay where they are.
duckdb::string_t StringAt(const arrow::ArrayData& data, int64_t index);

// An index of a dictionary array, whatever its integer type.
int64_t IndexAt(const arrow::ArrayData& data, int64_t index);

bool IsNullAt(const arrow::ArrayData& data, int64_t index);

[[noreturn]] void ThrowTypeMismatch(const arrow::ArrayData& data, const duckdb::Vector& out);

}  // namespace timelake::sql
