// Numbers of the format as words, and element types as bytes and values.

// Numbering inside MODEL_DEF (TensorDesc.dtype).
export const SERIAL = ['undefined', 'float32', 'float16', 'int8', 'uint8', 'int16', 'uint16',
  'int32', 'int64', 'uint32', 'uint64', 'bool', 'float64', 'string', 'dual_sub_int8',
  'dual_sub_uint8', 'complex64', 'complex128', 'qint8', 'qint16', 'qint32', 'quint8', 'quint16',
  'resource', 'string_ref', 'dual', 'variant', 'bfloat16', 'int4', 'uint1', 'int2', 'uint2',
  'complex32', 'hifloat8', 'float8_e5m2', 'float8_e4m3fn', 'float8_e8m0', 'float6_e3m2',
  'float6_e2m3', 'float4_e2m1', 'float4_e1m2', 'hifloat4'];
// Numbering of the C API: MODEL_INOUT_INFO and dtype attributes.
export const RUNTIME = ['float32', 'float16', 'int8', 'int32', 'uint8', null, 'int16', 'uint16',
  'uint32', 'int64', 'uint64', 'float64', 'bool', 'string', 'dual_sub_int8', 'dual_sub_uint8',
  'complex64', 'complex128', 'qint8', 'qint16', 'qint32', 'quint8', 'quint16', 'resource',
  'string_ref', 'dual', 'variant', 'bfloat16', 'undefined', 'int4', 'uint1', 'int2', 'uint2',
  'complex32', 'hifloat8', 'float8_e5m2', 'float8_e4m3fn', 'float8_e8m0', 'float6_e3m2',
  'float6_e2m3', 'float4_e2m1', 'float4_e1m2', 'hifloat4'];
export const FORMATS = ['NCHW', 'NHWC', 'ND', 'NC1HWC0', 'FRACTAL_Z', 'NC1C0HWPAD', 'NHWC1C0',
  'FSR_NCHW', 'FRACTAL_DECONV', 'C1HWNC0', 'FRACTAL_DECONV_TRANSPOSE',
  'FRACTAL_DECONV_SP_STRIDE_TRANS', 'NC1HWC0_C04', 'FRACTAL_Z_C04', 'CHWN',
  'DECONV_SP_STRIDE8_TRANS', 'HWCN', 'NC1KHKWHWC0', 'BN_WEIGHT', 'FILTER_HWCK', 'LOOKUP_LOOKUPS',
  'LOOKUP_KEYS', 'LOOKUP_VALUE', 'LOOKUP_OUTPUT', 'LOOKUP_HITS', 'C1HWNCoC0', 'MD', 'NDHWC',
  'FRACTAL_ZZ', 'FRACTAL_NZ', 'NCDHW', 'DHWCN', 'NDC1HWC0', 'FRACTAL_Z_3D', 'CN', 'NC', 'DHWNC',
  'FRACTAL_Z_3D_TRANSPOSE', 'FRACTAL_ZN_LSTM', 'FRACTAL_Z_G', 'RESERVED', 'ALL', 'NULL',
  'ND_RNN_BIAS', 'FRACTAL_ZN_RNN', 'NYUV', 'NYUV_A', 'NCL', 'FRACTAL_Z_WINO', 'C1HWC0'];
export const PARTITIONS = { 0: 'MODEL_DEF', 1: 'WEIGHTS_DATA', 2: 'TASK_INFO', 3: 'TBE_KERNELS',
  4: 'CUST_AICPU_KERNELS', 5: 'SO_BINS', 6: 'FLOW_MODEL', 7: 'FLOW_SUBMODEL',
  8: 'MODEL_INOUT_INFO', 9: 'STATIC_TASK_DESC', 10: 'DYNAMIC_TASK_DESC', 11: 'TASK_PARAM',
  12: 'TILING_DATA', 20: 'PRE_MODEL_DESC', 21: 'PRE_MODEL_SQE', 22: 'PRE_KERNEL_ARGS',
  23: 'PRE_MODEL_DESC_EXTEND', 24: 'BUNDLE_MODEL_INFO', 25: 'BUNDLE_MODEL_VAR_INFO',
  26: 'CUSTOM_OPS' };
export const BITS = { float32: 32, float16: 16, int8: 8, uint8: 8, int16: 16, uint16: 16,
  int32: 32, int64: 64, uint32: 32, uint64: 64, bool: 8, float64: 64, bfloat16: 16, int4: 4,
  uint1: 1, int2: 2, uint2: 2, complex32: 32, complex64: 64, complex128: 128, hifloat8: 8,
  float8_e5m2: 8, float8_e4m3fn: 8, float8_e8m0: 8, float6_e3m2: 6, float6_e2m3: 6,
  float4_e2m1: 4, float4_e1m2: 4, hifloat4: 4 };

// 64-bit integers of protobufjs and BigInts as numbers, or as text when they do not fit.
export function num(v) {
  if (typeof v === 'bigint') return Number.isSafeInteger(Number(v)) ? Number(v) : v.toString();
  if (v && typeof v === 'object' && typeof v.toNumber === 'function') {
    const n = v.toNumber();
    return Number.isSafeInteger(n) ? n : v.toString();
  }
  return v;
}

export const bytesOf = (dtype, shape) => {
  const bits = BITS[dtype];
  if (!bits || shape.some((d) => d < 0)) return null;
  return Math.ceil(shape.reduce((a, b) => a * b, 1) * bits / 8);
};

export function halfValue(u) {
  const s = u & 0x8000 ? -1 : 1, e = (u >> 10) & 31, m = u & 1023;
  if (e === 0) return s * m * 2 ** -24;
  if (e === 31) return m ? NaN : s * Infinity;
  return s * (1 + m / 1024) * 2 ** (e - 15);
}
const word = Buffer.alloc(4);
export function brainValue(u) {
  word.writeUInt32LE((u << 16) >>> 0, 0);
  return word.readFloatLE(0);
}
export const READ = { float32: [4, (b, o) => b.readFloatLE(o)],
  float16: [2, (b, o) => halfValue(b.readUInt16LE(o))],
  bfloat16: [2, (b, o) => brainValue(b.readUInt16LE(o))],
  int8: [1, (b, o) => b.readInt8(o)], uint8: [1, (b, o) => b[o]],
  bool: [1, (b, o) => b[o] !== 0], int16: [2, (b, o) => b.readInt16LE(o)],
  uint16: [2, (b, o) => b.readUInt16LE(o)], int32: [4, (b, o) => b.readInt32LE(o)],
  uint32: [4, (b, o) => b.readUInt32LE(o)], int64: [8, (b, o) => num(b.readBigInt64LE(o))],
  uint64: [8, (b, o) => num(b.readBigUInt64LE(o))], float64: [8, (b, o) => b.readDoubleLE(o)] };
