// A small reader of ONNX models: nodes, initialisers as little-endian bytes, sub-graphs.
import fs from 'node:fs';
import path from 'node:path';
import { schema } from './packages.mjs';

export const ELEM = { 1: 'float32', 2: 'uint8', 3: 'int8', 4: 'uint16', 5: 'int16', 6: 'int32', 7: 'int64', 8: 'string',
  9: 'bool', 10: 'float16', 11: 'float64', 12: 'uint32', 13: 'uint64', 14: 'complex64', 15: 'complex128', 16: 'bfloat16' };

export function tensorBytes(t, dir) {
  if (t.location === 1) {
    const e = Object.fromEntries(t.external.map((x) => [x.key, x.value]));
    const fd = fs.openSync(path.join(dir, e.location), 'r'), at = Number(e.offset || 0);
    const b = Buffer.alloc(Number(e.length || fs.fstatSync(fd).size - at));
    fs.readSync(fd, b, 0, b.length, at);
    fs.closeSync(fd);
    return b;
  }
  if (t.raw.length) return Buffer.from(t.raw);
  const fill = (v, size, put) => {
    const b = Buffer.alloc(v.length * size);
    v.forEach((x, i) => put(b, x, i * size));
    return b;
  };
  switch (ELEM[t.data_type]) {
    case 'float32': return fill(t.floats, 4, (b, x, o) => b.writeFloatLE(x, o));
    case 'float64': return fill(t.doubles, 8, (b, x, o) => b.writeDoubleLE(x, o));
    case 'int64': return fill(t.longs, 8, (b, x, o) => b.writeBigInt64LE(BigInt(x.toString()), o));
    case 'uint64': case 'uint32': return fill(t.ulongs, ELEM[t.data_type] === 'uint64' ? 8 : 4, (b, x, o) => (ELEM[t.data_type] === 'uint64' ? b.writeBigUInt64LE(BigInt(x.toString()), o) : b.writeUInt32LE(Number(x.toString()), o)));
    case 'int32': return fill(t.ints, 4, (b, x, o) => b.writeInt32LE(x, o));
    case 'int16': case 'uint16': case 'float16': case 'bfloat16': return fill(t.ints, 2, (b, x, o) => b.writeUInt16LE(x & 0xffff, o));
    case 'int8': case 'uint8': case 'bool': return fill(t.ints, 1, (b, x, o) => b.writeUInt8(x & 0xff, o));
    default: return null;
  }
}

// Nodes of the graph and its sub-graphs whose results reach an output.
function liveNodes(graph, wantedOutside) {
  const wanted = new Set([...graph.outputs.map((o) => o.name), ...wantedOutside]);
  const live = [];
  for (const n of [...graph.nodes].reverse()) {
    if (!n.outputs.some((o) => o !== '' && wanted.has(o))) continue;
    live.push(n);
    for (const i of n.inputs) wanted.add(i);
    for (const a of n.attributes) for (const g of [a.g, ...a.graphs].filter(Boolean)) {
      for (const name of captured(g)) wanted.add(name);
    }
  }
  return live.reverse();
}
function captured(g) {
  const names = [];
  const stack = [g];
  while (stack.length) {
    const x = stack.pop();
    for (const n of x.nodes) {
      names.push(...n.inputs);
      for (const a of n.attributes) stack.push(...[a.g, ...a.graphs].filter(Boolean));
    }
    names.push(...x.outputs.map((o) => o.name));
  }
  return names;
}

// A node without a name is called by its type and its number among such nodes.
function nameUnnamed(graph) {
  let k = 0;
  for (const n of graph.nodes) {
    n.given = n.name !== '';
    if (!n.given) n.name = `${n.type}_${k++}`;
  }
}

export function readOnnx(file) {
  const root = schema('onnx.proto'), Model = root.lookupType('onnx.Model');
  const model = Model.decode(fs.readFileSync(file)), dir = path.dirname(file), g = model.graph;
  const sorted = g.initializers.map((t) => t.name).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const rank = new Map(sorted.map((n, i) => [n, i]));
  nameUnnamed(g);
  const constants = new Map(); // name of the Const op -> {dtype, dims, bytes}
  const add = (name, t) => constants.set(name, { dtype: ELEM[t.data_type], dims: t.dims.map((d) => Number(d.toString())), bytes: () => tensorBytes(t, dir) });
  for (const t of g.initializers) add(`${t.name}_Initializer_${rank.get(t.name)}`, t);
  for (const n of g.nodes) {
    const v = n.type === 'Constant' ? n.attributes.find((a) => a.name === 'value') : null;
    if (v?.t) add(n.name, v.t);
  }
  return { model, graph: g, constants, live: liveNodes(g, []) };
}
