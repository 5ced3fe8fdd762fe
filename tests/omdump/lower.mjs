// float32 bytes as float16 or bfloat16, from the definition of rounding and not from bit
// tricks: scale so that one unit is the last place, round to nearest even, scale back.
import { brainValue, halfValue } from './numbers.mjs';

function roundEven(q) {
  const f = Math.floor(q), rest = q - f;
  return rest > 0.5 || (rest === 0.5 && f % 2 === 1) ? f + 1 : f;
}
const view = new DataView(new ArrayBuffer(8));
// Exponent e with 2^e <= a < 2^(e+1), for a > 0.
function exponent(a) {
  view.setFloat64(0, a);
  return ((view.getUint16(0) >> 4) & 0x7ff) - 1023;
}

export function toHalf(x) {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0, a = Math.abs(x);
  if (a === 0) return sign;
  const e = Math.max(exponent(a), -14), units = roundEven(a * 2 ** (10 - e));
  const value = units * 2 ** (e - 10); // what the half is worth
  if (value >= 65536) return sign | 0x7c00;
  if (value < 2 ** -14) return sign | units; // subnormal: units of 2^-24
  const n = exponent(value);
  return sign | ((n + 15) << 10) | (value * 2 ** (10 - n) - 1024);
}

export function toBrain(x) {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0, a = Math.abs(x);
  if (a === 0) return sign;
  const e = Math.max(exponent(a), -126), value = roundEven(a * 2 ** (7 - e)) * 2 ** (e - 7);
  if (value >= 2 ** 128) return sign | 0x7f80;
  view.setFloat32(0, value); // exact: at most 8 bits of mantissa
  return sign | view.getUint16(0);
}

const READ = { float32: [4, (b, o) => b.readFloatLE(o)], float16: [2, (b, o) => halfValue(b.readUInt16LE(o))],
  bfloat16: [2, (b, o) => brainValue(b.readUInt16LE(o))] };

// Bytes of `from` as `to`; null when this pair is not converted at compile time. What a NaN
// carries is not compared: see sameNumbers().
export function lower(bytes, from, to) {
  if (from === to) return bytes;
  if (!READ[from] || !READ[to]) return null;
  const [size, read] = READ[from], n = bytes.length / size, out = Buffer.alloc(n * READ[to][0]);
  for (let i = 0; i < n; i++) {
    const x = read(bytes, size * i);
    if (to === 'float32') out.writeFloatLE(x, 4 * i);
    else if (Number.isNaN(x)) out.writeUInt16LE(to === 'float16' ? 0x7e00 : 0x7fc0, 2 * i);
    else if (!Number.isFinite(x)) out.writeUInt16LE((to === 'float16' ? 0x7c00 : 0x7f80) | (x < 0 ? 0x8000 : 0), 2 * i);
    else out.writeUInt16LE(to === 'float16' ? toHalf(x) : toBrain(x), 2 * i);
  }
  return out;
}

// Equal bytes, or equal but for what NaNs carry.
export function sameNumbers(a, b, dtype) {
  if (a.equals(b)) return true;
  if (a.length !== b.length || !READ[dtype]) return false;
  const [size, read] = READ[dtype];
  for (let o = 0; o < a.length; o += size) {
    if (a.subarray(o, o + size).equals(b.subarray(o, o + size))) continue;
    if (!Number.isNaN(read(a, o)) || !Number.isNaN(read(b, o))) return false;
  }
  return true;
}
