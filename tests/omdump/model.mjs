// MODEL_DEF and TASK_INFO as plain objects, attribute compression undone.
import crypto from 'node:crypto';
import { schema } from './packages.mjs';
import { BITS, READ, RUNTIME, SERIAL, bytesOf, num } from './numbers.mjs';
import { BadOm, readContainer, readInOut, readKernels } from './container.mjs';

const str = (b) => Buffer.from(b).toString('utf8');
let types = null;
function messages() {
  if (!types) {
    const root = schema('om.proto');
    types = { Model: root.lookupType('om.Model'), TaskSet: root.lookupType('om.TaskSet') };
  }
  return types;
}

// Compressed keys are 0x00 and base-127 digits, each plus one, least significant first.
function keyIndex(key) {
  let p = 0, w = 1;
  for (const c of Buffer.from(key, 'utf8').subarray(1)) { p += (c - 1) * w; w *= 127; }
  return p;
}
function decompressor(model) {
  const a = model.attrs || {};
  if (!a.om_compress_version) return null;
  const names = a.attr_name_enum.list.s.map(str);
  const values = (a.attr_value_enum?.list?.s || []).map(str);
  const isText = a.attrs_use_string_value.list.b;
  if (names.length !== isText.length) throw new BadOm('attribute dictionary: lists of different lengths');
  return (attrs) => {
    const out = {};
    for (const [k, v] of Object.entries(attrs || {})) {
      if (k.charCodeAt(0) !== 0) { out[k] = v; continue; }
      const p = keyIndex(k);
      if (p >= names.length) throw new BadOm(`attribute key index ${p} outside the dictionary`);
      out[names[p]] = !isText[p] ? v
        : v.v === 'list' ? { v: 'list', list: { kind: 1, s: (v.list.i || []).map((x) => Buffer.from(values[num(x)] ?? '')) } }
          : { v: 's', s: Buffer.from(values[num(v.i ?? 0)] ?? '') };
    }
    return out;
  };
}

function desc(d) {
  const r = { dtype: SERIAL[d.dtype || 0] ?? `dtype_${d.dtype}`, shape: (d.shape?.dims || []).map(num), layout: d.layout };
  const a = d.attrs || {};
  r.size = num(d.size || 0);
  if (a.origin_format?.v === 's') r.origin_layout = str(a.origin_format.s);
  if (a.origin_shape?.v === 'list') r.origin_shape = (a.origin_shape.list.i || []).map(num);
  if (a.origin_data_type?.v === 's') r.origin_dtype = str(a.origin_data_type.s);
  return r;
}
const LISTS = [['s', str], ['i', num], ['f', (x) => x], ['b', (x) => x], ['bt', (x) => ({ bytes: x.length })],
  ['td', desc], ['t', (x) => desc(x.desc || {})], ['g', (x) => x.name], ['na', (x) => x.name],
  ['dt', (x) => RUNTIME[num(x)] ?? num(x)]];
function attribute(v) {
  switch (v.v) {
    case 's': return str(v.s);
    case 'i': return num(v.i);
    case 'f': return v.f;
    case 'b': return v.b;
    case 'bt': return { bytes: v.bt.length };
    case 'dt': return { dtype: RUNTIME[num(v.dt)] ?? num(v.dt) };
    case 'td': return { tensor_desc: desc(v.td) };
    case 't': return { tensor: desc(v.t.desc || {}), inline_bytes: v.t.data?.length || 0 };
    case 'g': return { graph: v.g.name };
    case 'func': return { func: v.func.name };
    case 'ints2': return (v.ints2.rows || []).map((r) => (r.v || []).map(num));
    case 'floats2': return (v.floats2.rows || []).map((r) => r.v || []);
    case 'expr': return { expr: str(v.expr) };
    case 'list':
      for (const [k, f] of LISTS) if (v.list[k] && v.list[k].length) return v.list[k].map(f);
      return [];
    default: return null;
  }
}
const attributes = (attrs) => Object.fromEntries(Object.entries(attrs || {}).map(([k, v]) => [k, attribute(v)]));

function weight(file, op, part, rootPart, notes) {
  const value = op.attrs?.value;
  if ((op.type !== 'Const' && op.type !== 'Constant') || value?.v !== 't') return null;
  const d = value.t.desc || {}, w = { name: op.name, ...desc(d) };
  const inline = value.t.data && value.t.data.length ? Buffer.from(value.t.data) : null;
  w.offset = inline ? null : num(d.data_offset || 0);
  w.bytes = inline ? inline.length : num(d.weight_size || 0);
  const shared = op.attrs._root_weight_size; // a profile's model: the bytes are in the first one
  if (shared?.v === 'i') {
    if (w.bytes) notes.push(`weight ${op.name}: shared and stored`);
    w.bytes = num(shared.i);
    w.shared = true;
    part = rootPart;
  }
  if (!inline && (!part || w.offset + w.bytes > part.size)) {
    if (w.bytes) notes.push(`weight ${op.name}: bytes ${w.offset}+${w.bytes} are outside WEIGHTS_DATA (${part ? part.size : 0})`);
    return w;
  }
  const want = bytesOf(w.dtype, w.shape);
  if (want !== null && want !== w.bytes) notes.push(`weight ${op.name}: ${w.dtype}[${w.shape}] needs ${want} bytes, has ${w.bytes}`);
  w.at = inline ? null : part.at + w.offset;
  w.inline = inline;
  return w;
}
// Bytes of a weight in pieces: f(piece, offset).
export function eachPiece(file, w, f) {
  if (w.inline) f(w.inline, 0);
  else if (w.at !== undefined && w.bytes) file.each(w.at, w.bytes, f);
}
export function weightHash(file, w) {
  const h = crypto.createHash('sha256');
  eachPiece(file, w, (b) => h.update(b));
  return h.digest('hex');
}
export function weightFirst(file, w, n) {
  const rd = READ[w.dtype];
  if (!rd || !w.bytes) return [];
  const b = w.inline || file.read(w.at, Math.min(w.bytes, n * rd[0])), r = [];
  for (let i = 0; i < n && (i + 1) * rd[0] <= b.length; i++) r.push(rd[1](b, i * rd[0]));
  return r;
}

function tasks(bytes, index, notes) {
  const { TaskSet } = messages();
  let t;
  try { t = TaskSet.decode(bytes); } catch (e) { notes.push(`model ${index}: TASK_INFO does not parse (${e.message})`); return null; }
  const by = {};
  for (const x of t.tasks) by[x.type] = (by[x.type] || 0) + 1;
  return { memory_size: num(t.memory_size), weight_size: num(t.weight_size), stream_num: t.stream_num,
    event_num: t.event_num, base_addr: num(t.base_addr), weight_addr: num(t.weight_addr), count: t.tasks.length, by_type: by,
    kernels: t.tasks.filter((x) => x.kernel?.kernel_name).map((x) => {
      const a = Buffer.from(x.kernel.args || []), args = [];
      for (let o = 0; o + 8 <= a.length; o += 8) args.push(num(a.readBigUInt64LE(o)));
      return { op_index: x.kernel.context?.op_index || 0, kernel_type: x.kernel.context?.kernel_type, kernel: x.kernel.kernel_name, stub: x.kernel.stub_func, args };
    }) };
}

// A file written field by field in number order with sorted maps encodes back to the same
// bytes; anything else means an unknown field or a writer that is not canonical.
function checkCanonical(bytes, T, name, index, notes) {
  try {
    if (!Buffer.from(T.encode(T.decode(bytes)).finish()).equals(bytes)) notes.push(`model ${index}: ${name} does not re-encode to the same bytes`);
  } catch { /* reported by whoever parses it */ }
}

function graph(g, file, fix, part, rootPart, notes) {
  const out = { name: g.name, inputs: g.inputs || [], outputs: g.outputs || [], attrs: attributes(g.attrs), ops: [], weights: [] };
  for (const op of g.ops || []) {
    if (fix) {
      op.attrs = fix(op.attrs);
      for (const d of [...(op.input_descs || []), ...(op.output_descs || [])]) d.attrs = fix(d.attrs);
    }
    const w = weight(file, op, part, rootPart, notes);
    if (w) out.weights.push(w);
    out.ops.push({ name: op.name, type: op.type, id: num(op.id || 0), inputs: op.inputs || [],
      src_names: op.src_names || [], src_indices: (op.src_indices || []).map(num),
      dst_names: op.dst_names || [], dst_indices: (op.dst_indices || []).map(num),
      input_offsets: (op.input_offsets || []).map(num), output_offsets: (op.output_offsets || []).map(num),
      input_is_const: op.input_is_const || [], input_descs: (op.input_descs || []).map(desc),
      output_descs: (op.output_descs || []).map(desc), attrs: attributes(op.attrs), subgraphs: op.subgraphs || [] });
  }
  return out;
}

export function readModel(file, options = {}) {
  const { Model, TaskSet } = messages();
  const c = readContainer(file), notes = c.notes;
  const out = { file_size: file.size, header: c.header, models: [], notes };
  let rootFix = null;
  const rootPart = c.models[0].partitions.find((p) => p.type === 1) || null;
  for (const [index, m] of c.models.entries()) {
    const part = (t) => m.partitions.find((p) => p.type === t);
    const bytes = (t) => { const p = part(t); return p ? file.read(p.at, p.size) : null; };
    const r = { partitions: m.partitions };
    out.models.push(r);
    if (part(8)) r.io = readInOut(bytes(8));
    if (part(3)) r.kernels = readKernels(file, part(3));
    if (part(4)) r.aicpu_kernels = readKernels(file, part(4));
    if (part(2)) r.tasks = tasks(bytes(2), index, notes);
    const def = bytes(0);
    if (options.check) {
      if (def) checkCanonical(def, Model, 'MODEL_DEF', index, notes);
      if (part(2)) checkCanonical(bytes(2), TaskSet, 'TASK_INFO', index, notes);
    }
    if (!def) { notes.push(`model ${index}: no MODEL_DEF`); continue; }
    let model;
    try { model = Model.toObject(Model.decode(def), { oneofs: true, arrays: false, defaults: false }); } catch (e) { throw new BadOm(`MODEL_DEF does not parse: ${e.message}`); }
    const fix = decompressor(model) || rootFix;
    if (index === 0) rootFix = fix;
    Object.assign(r, { name: model.name, ir_version: model.ir_version, platform: model.platform, attr_compression: !!fix, modeldef_size: def.length });
    const hide = new Set(['attr_name_enum', 'attr_value_enum', 'attrs_use_string_value']);
    r.attrs = Object.fromEntries(Object.entries(attributes(model.attrs)).filter(([k]) => !hide.has(k)));
    r.graphs = (model.graphs || []).map((g) => graph(g, file, fix, part(1), index ? rootPart : null, notes));
  }
  return out;
}
