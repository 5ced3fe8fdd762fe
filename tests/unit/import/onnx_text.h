/* Models as text, for tests: a few lines become the bytes of an ONNX file, written with
 * proto/wire's writer (which shares no code with the importer).
 *
 *   ir 8 | opset 13 | opset com.example 1
 *   in NAME TYPE DIMS            dims "2,3,N", "-" for a scalar, "?" for no shape;
 *                                TYPE with "opt:" and any number of "seq:" before it
 *   in NAME                      an input of no type
 *   out NAME                     graph output
 *   init NAME TYPE DIMS [v v...] raw_data; zeros when no values are given
 *   node TYPE NAME A,B -> X,Y [attr...]
 *                                NAME "_" = unnamed, "_" in a list = left out
 *   graph NAME ... end           a sub-graph for later nodes; it has no graph in itself,
 *                                but may hold nodes with graphs that came before
 *
 * Attributes: name=i5 name=f0.5 name=sTEXT name=I1;2 name=F1;0.5 name=Sa;b name=gGRAPH
 * name=t<TYPE>:1;2 (a tensor of one dim) name=z<TYPE>:5 (a scalar tensor). A type of a
 * node may carry its domain: "npu::NPUMish". */
#ifndef TEST_ONNX_TEXT_H
#define TEST_ONNX_TEXT_H

#include "base/buf.h"

/* Ends the test when the text makes no sense. */
void onnx_text(const char *text, struct oc_buf *out);

#endif
