// Shape rules of the catalogue's rows; one function a family of operators, in rules_*.cc. Each reads its
// arguments by their names in the ATen schema.
#pragma once

#include "program/shape_rules.h"

namespace tritogen::rules {

// rules_basic.cc
void Pointwise(ShapeBuilder& b);  // all tensors broadcast
void Prelu(ShapeBuilder& b);
void Same(ShapeBuilder& b);       // the first tensor's; `dim` and `dims` must be dimensions of it
void SameTwice(ShapeBuilder& b);  // two results: cummax, sort
void Reduce(ShapeBuilder& b);     // over `dim`, or all
void ReduceTwice(ShapeBuilder& b);
void TopK(ShapeBuilder& b);
void ElementLoss(ShapeBuilder& b);  // broadcast, then `reduction`
void EqualLoss(ShapeBuilder& b);    // of equal shapes
void CrossEntropy(ShapeBuilder& b);
void NllForward(ShapeBuilder& b);
void CosineSimilarity(ShapeBuilder& b);
void TripletMargin(ShapeBuilder& b);
void Create(ShapeBuilder& b);  // `size`
void Range(ShapeBuilder& b);   // arange
void Eye(ShapeBuilder& b);
void LinSpace(ShapeBuilder& b);
void Scalar(ShapeBuilder& b);  // no dimensions

// rules_matmul.cc
void Mm(ShapeBuilder& b);
void Bmm(ShapeBuilder& b);
void Matmul(ShapeBuilder& b);
void Mv(ShapeBuilder& b);
void Dot(ShapeBuilder& b);
void Outer(ShapeBuilder& b);
void Linear(ShapeBuilder& b);
void Addmm(ShapeBuilder& b);
void Baddbmm(ShapeBuilder& b);
void Attention(ShapeBuilder& b);
void SquareAttention(ShapeBuilder& b);  // key and value of one width
void Lstm(ShapeBuilder& b);
void Gru(ShapeBuilder& b);  // and plain recurrent networks

// rules_spatial.cc
void Conv(ShapeBuilder& b);
void ConvTranspose(ShapeBuilder& b);
void Convolution(ShapeBuilder& b);  // either, as `transposed` says
void Pool(ShapeBuilder& b);
void PoolTwice(ShapeBuilder& b);
void AdaptivePool(ShapeBuilder& b);
void AdaptivePoolTwice(ShapeBuilder& b);
void Upsample(ShapeBuilder& b);
void PixelShuffle(ShapeBuilder& b);
void PixelUnshuffle(ShapeBuilder& b);
void Pad(ShapeBuilder& b);
void ReflectPad(ShapeBuilder& b);
void ReplicatePad(ShapeBuilder& b);
void BatchNorm(ShapeBuilder& b);
void BatchNormAlone(ShapeBuilder& b);  // statistics that it returns are left open
void InstanceNorm(ShapeBuilder& b);
void GroupNorm(ShapeBuilder& b);
void NativeGroupNorm(ShapeBuilder& b);
void LayerNorm(ShapeBuilder& b);

// rules_layout.cc
void Reshape(ShapeBuilder& b);
void Flatten(ShapeBuilder& b);
void Unflatten(ShapeBuilder& b);
void T(ShapeBuilder& b);
void Transpose(ShapeBuilder& b);
void Permute(ShapeBuilder& b);
void Unsqueeze(ShapeBuilder& b);
void Squeeze(ShapeBuilder& b);
void Expand(ShapeBuilder& b);
void Repeat(ShapeBuilder& b);
void RepeatInterleave(ShapeBuilder& b);
void Slice(ShapeBuilder& b);
void Narrow(ShapeBuilder& b);
void Select(ShapeBuilder& b);
void Split(ShapeBuilder& b);
void SplitSizes(ShapeBuilder& b);
void Chunk(ShapeBuilder& b);
void Unbind(ShapeBuilder& b);
void Cat(ShapeBuilder& b);
void Stack(ShapeBuilder& b);
void SliceScatter(ShapeBuilder& b);
void SelectScatter(ShapeBuilder& b);
void ViewAs(ShapeBuilder& b);
void Glu(ShapeBuilder& b);

// rules_index.cc
void Gather(ShapeBuilder& b);
void Scatter(ShapeBuilder& b);
void IndexSelect(ShapeBuilder& b);
void Index(ShapeBuilder& b);
void Embedding(ShapeBuilder& b);

// rules_linalg.cc
void Cholesky(ShapeBuilder& b);
void LuFactor(ShapeBuilder& b);
void Lu(ShapeBuilder& b);
void SolveTriangular(ShapeBuilder& b);
void Reflections(ShapeBuilder& b);
void Eigen(ShapeBuilder& b);
void SingularValues(ShapeBuilder& b);

}  // namespace tritogen::rules
