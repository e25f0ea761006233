#include "maintain/merge_output.h"

#include <utility>

#include "base/parallel.h"

namespace timelake::maintain {

MergeOutput::MergeOutput(const table::Env& env, const write::Target& target,
                         const MergeRequest& request, int64_t group_bytes)
    : env_(env),
      target_(target),
      request_(request),
      group_bytes_(group_bytes),
      unpartitioned_(target),
      newest_rows_(&unpartitioned_) {
  unpartitioned_.spec.fields.clear();
}

Status MergeOutput::Begin(std::vector<write::StoredFile>* files) {
  TL_ASSIGN_OR_RAISE(plan_, write::FilePlan::Make(env_, target_, write::FollowsOrder(target_)));
  plan_.cancelled = request_.cancelled;
  plan_.group_bytes = group_bytes_;
  plan_.even_groups = true;
  TL_ASSIGN_OR_RAISE(files_,
                     write::RollingFiles::Make(&plan_, request_.partition, env_.random->Next64(),
                                               MachineThreads(), files));
  return Status::OK();
}

Status MergeOutput::Add(const write::Rows& rows, const write::Arrangement& arrangement) {
  const auto end = static_cast<int64_t>(arrangement.order.size());
  TL_RETURN_NOT_OK(files_->Add(rows, arrangement.order, 0, end, arrangement.in_place));
  return AddNewest(rows, arrangement.newest);
}

Status MergeOutput::AddNewest(const write::Rows& rows, const std::vector<uint32_t>& positions) {
  if (!target_.contract.is_time_series()) return Status::OK();
  TL_ASSIGN_OR_RAISE(auto newest, write::TakeRows(unpartitioned_, rows, positions));
  return newest_rows_.Add(std::move(newest));
}

Status MergeOutput::Finish() {
  TL_RETURN_NOT_OK(files_->Finish());
  if (target_.contract.is_time_series()) {
    TL_ASSIGN_OR_RAISE(newest_, newest_rows_.Finish());
  }
  return Status::OK();
}

}  // namespace timelake::maintain
