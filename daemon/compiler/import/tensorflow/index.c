/* Elements by index: gather, scatter, top-k, unique, sparse tensors. */
#include "import/tensorflow/build.h"

static void top_k(struct tf_cx *cx)
{
  tf_set_int(cx, "dim", -1);
  tf_set_bool(cx, "largest", true);
}

const struct tf_rule tf_index_rules[] = {
  { "DynamicPartition", "DynamicPartition", "num_partitions", "num_partitions", NULL,
    TF_BY_NAME },
  { "DynamicStitch", "DynamicStitch", "N", NULL, NULL, TF_BY_PLUGIN },
  { "Gather", "Gather", "validate_indices batch_dims", NULL, NULL, TF_BY_NAME },
  { "GatherNd", "GatherNd", "", NULL, NULL, TF_BY_PLUGIN },
  { "GatherV2", "GatherV2", "batch_dims", NULL, NULL, TF_BY_PLUGIN },
  { "InTopKV2", "InTopK", "", NULL, NULL, TF_BY_ENGINE },
  { "InplaceAdd", "InplaceAdd", "", NULL, NULL, TF_BY_PLUGIN },
  { "InplaceSub", "InplaceSub", "", NULL, NULL, TF_BY_PLUGIN },
  { "InplaceUpdate", "InplaceUpdate", "", NULL, NULL, TF_BY_PLUGIN },
  { "ListDiff", "ListDiff", "out_idx", NULL, NULL, TF_BY_NAME },
  { "OneHot", "OneHot", "axis", NULL, NULL, TF_BY_PLUGIN },
  { "ParallelDynamicStitch", "ParallelDynamicStitch", "N", NULL, NULL, TF_BY_NAME },
  { "ScatterNd", "ScatterNd", "", NULL, NULL, TF_BY_PLUGIN },
  { "ScatterNdNonAliasingAdd", "ScatterNonAliasingAdd", "", NULL, NULL, TF_BY_PLUGIN },
  { "SparseReshape", "SparseReshape", "", NULL, NULL, TF_BY_PLUGIN },
  { "SparseToDense", "SparseToDense", "validate_indices", NULL, NULL, TF_BY_NAME },
  { "TensorScatterAdd", "TensorScatterAdd", "", NULL, NULL, TF_BY_NAME },
  { "TensorScatterMax", "TensorScatterMax", "", NULL, NULL, TF_BY_NAME },
  { "TensorScatterMin", "TensorScatterMin", "", NULL, NULL, TF_BY_NAME },
  { "TensorScatterSub", "TensorScatterSub", "", NULL, NULL, TF_BY_NAME },
  { "TensorScatterUpdate", "TensorScatterUpdate", "", NULL, NULL, TF_BY_PLUGIN },
  { "TopKV2", "TopK", "sorted", NULL, top_k, TF_BY_PLUGIN },
  { "Unique", "Unique", "out_idx", NULL, NULL, TF_BY_NAME },
  { "UniqueV2", "UniqueExt2", "out_idx", NULL, NULL, TF_BY_ENGINE },
  { "UniqueWithCounts", "UniqueWithCounts", "out_idx", NULL, NULL, TF_BY_NAME },
  { "UniqueWithCountsV2", "UniqueWithCountsExt2", "out_idx sorted return_inverse", NULL,
    NULL, TF_BY_ENGINE },
  { "UnravelIndex", "UnravelIndex", "", NULL, NULL, TF_BY_NAME },
  { "Where", "Where", "", NULL, NULL, TF_BY_PLUGIN },
  { "NonZero", "NonZero", "transpose output_type>dtype", NULL, NULL, TF_BY_PLUGIN },
  { "SparseTensorDenseMatMul", "SparseTensorDenseMatMul", "adjoint_a adjoint_b", NULL,
    NULL, TF_BY_NAME },
  { "SparseFillEmptyRows", "SparseFillEmptyRows", "", NULL, NULL, TF_BY_NAME },
  { "SparseSlice", "SparseSlice", "", NULL, NULL, TF_BY_NAME },
  { "SparseConcat", "SparseConcat", "concat_dim N", NULL, NULL, TF_BY_NAME },
  { "SparseAdd", "SparseAdd", "", NULL, NULL, TF_BY_NAME },
  { "SparseSegmentMean", "SparseSegmentMean", "", NULL, NULL, TF_BY_NAME },
  { "SparseSegmentSum", "SparseSegmentSum", "", NULL, NULL, TF_BY_NAME },
  { 0 },
};
