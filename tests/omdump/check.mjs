#!/usr/bin/env node
// check: an .om file against the model it was made of, and against what omcc says of it.
//
//   node check.mjs --om=F.om [--onnx=M.onnx] [--inspect=F.json] [--origin] [--static] [--outputs] [--quiet]
//     --onnx      constants' bytes equal the initialisers' (lowered here, independently, where
//                 the file has a smaller type); every node is found by name or original name
//     --origin    no constant may have another dtype than in the model
//     --inspect   ops, types, dtypes and shapes equal `omcc inspect --json`
//     --static    in the models of profiles every tensor's shape is known
//     --outputs   shapes of the outputs equal what onnxruntime-node computes (when installed)
//
// Prints one line per disagreement. Exit status: 0 none, 1 some, 2 usage or missing package.
import fs from 'node:fs';
import { File } from './container.mjs';
import { eachPiece, readModel } from './model.mjs';
import { checkRules } from './rules.mjs';
import { lower, sameNumbers } from './lower.mjs';
import { readOnnx } from './onnx.mjs';
import { findPackage } from './packages.mjs';

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function readBytes(file, w) {
  const parts = [];
  eachPiece(file, w, (b) => parts.push(Buffer.from(b)));
  return Buffer.concat(parts);
}

// Original names of an op: its list, or else its own name.
const origins = (op) => (op.attrs._datadump_original_op_names?.length ? op.attrs._datadump_original_op_names : [op.name]);

function checkConstants(file, dump, onnx, origin, bad) {
  const seen = { equal: 0, lowered: 0, made: 0 };
  for (const g of dump.models[0].graphs) {
    const ops = new Map(g.ops.map((o) => [o.name, o]));
    for (const w of g.weights) {
      // a second dtype of a constant has the name of the Cast that it stands for
      const name = w.name.startsWith('trans_Cast_') ? origins(ops.get(w.name))[0] : w.name;
      const source = onnx.constants.get(name);
      if (!source) { seen.made++; continue; } // a constant that the importer or a pass made
      const bytes = source.bytes(), got = readBytes(file, w);
      if (origin && w.dtype !== source.dtype) { bad.push(`constant ${w.name}: ${w.dtype} in the file, ${source.dtype} in the model`); continue; }
      const want = bytes && lower(bytes, source.dtype, w.dtype);
      if (!want) bad.push(`constant ${w.name}: ${source.dtype} became ${w.dtype}`);
      else if (!sameNumbers(want, got, w.dtype)) bad.push(`constant ${w.name}: bytes differ (${source.dtype} as ${w.dtype})`);
      else seen[w.dtype === source.dtype ? 'equal' : 'lowered']++;
    }
  }
  return seen;
}

function checkNames(dump, onnx, bad) {
  const names = new Set();
  for (const g of dump.models[0].graphs) for (const op of g.ops) {
    names.add(op.name);
    for (const n of origins(op)) names.add(n);
  }
  // A Constant whose value became an attribute or went into another constant leaves no op.
  let absorbed = 0;
  for (const n of onnx.live) {
    if (n.type === 'Constant' && !names.has(n.name)) { absorbed++; continue; }
    if (!names.has(n.name)) bad.push(`node ${n.name} (${n.type}) is neither an op nor an original name`);
  }
  return { absorbed, nodes: onnx.live.length, unnamed: onnx.live.filter((n) => !n.given).length };
}

function checkStatic(dump, bad) {
  if (dump.models.length < 2) bad.push('there are no models of profiles');
  for (const m of dump.models.slice(1)) for (const g of m.graphs) for (const op of g.ops) {
    const open = op.output_descs.find((d) => d.shape.some((n) => n < 0));
    if (open) bad.push(`model ${m.name}: op ${op.name} gives ${JSON.stringify(open.shape)}`);
  }
}

const ends = ['inputs', 'outputs'];
function checkInspect(dump, said, bad) {
  const data = said.data || said;
  const ours = dump.models.flatMap((m) => m.graphs.flatMap((g) => g.ops.map((o) => ({ graph: g.name, ...o }))));
  if (data.ops.length !== ours.length) { bad.push(`inspect lists ${data.ops.length} ops, the file has ${ours.length}`); return; }
  ours.forEach((op, i) => {
    const q = data.ops[i], where = `inspect: op ${op.name}`;
    for (const k of ['graph', 'name', 'type', 'id']) if (q[k] !== op[k]) bad.push(`${where}: ${k} is ${q[k]}, not ${op[k]}`);
    if (q.kept !== (op.attrs._keep_dtype === 1)) bad.push(`${where}: kept is ${q.kept}`);
    if (!same(q.origin_names, op.attrs._datadump_original_op_names || [])) bad.push(`${where}: original names ${q.origin_names}`);
    if (!same(q.source_type, op.attrs._datadump_original_op_types?.[0] || '')) bad.push(`${where}: source type ${q.source_type}`);
    for (const end of ends) {
      const descs = end === 'inputs' ? op.input_descs : op.output_descs;
      const shapes = descs.map((d) => (same(d.shape, [-2]) ? null : d.shape));
      if (!same(q[end].map((t) => t.got), descs.map((d) => d.dtype))) bad.push(`${where}: ${end} are ${q[end].map((t) => t.got)}, not ${descs.map((d) => d.dtype)}`);
      if (!same(q[end].map((t) => t.shape), shapes)) bad.push(`${where}: shapes of ${end} differ`);
      if (!same(q[end].map((t) => t.format), descs.map((d) => d.layout))) bad.push(`${where}: formats of ${end} differ`);
    }
  });
  const io = dump.models[0].io;
  if (io) for (const end of ends) if (!same(data[end].map((t) => [t.name, t.dtype, t.bytes]), io[end].map((t) => [t.name, t.dtype, t.size]))) bad.push(`inspect: ${end} differ`);
  const kernels = dump.models[0].tasks?.kernels.length || 0;
  if (data.tasks.kernels !== kernels) bad.push(`inspect: ${data.tasks.kernels} kernels, the file has ${kernels}`);
  if (data.builtin && data.device_ready) bad.push('inspect: a builtin file is called device-ready');
}

async function checkOutputs(dump, onnx, name, bad) {
  const ort = findPackage('onnxruntime-node');
  if (!ort) return 'onnxruntime-node is not installed';
  const io = dump.models[0].io, initial = new Set(onnx.graph.initializers.map((t) => t.name));
  const TYPES = { float32: Float32Array, float16: Uint16Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array, bool: Uint8Array, uint8: Uint8Array, int8: Int8Array };
  const feeds = {};
  for (const v of onnx.graph.inputs.filter((x) => !initial.has(x.name))) {
    const t = io.inputs.find((x) => x.name === v.name), type = { 1: 'float32', 7: 'int64', 6: 'int32', 9: 'bool', 10: 'float16', 11: 'float64', 2: 'uint8', 3: 'int8' }[v.type.tensor.elem];
    if (!t) { bad.push(`input ${v.name} is not in MODEL_INOUT_INFO`); return 'not run'; }
    if (!type || t.shape.some((d) => d < 0)) return 'inputs are dynamic';
    const n = t.shape.reduce((a, b) => a * b, 1);
    feeds[v.name] = new ort.Tensor(type, new TYPES[type](n), t.shape);
  }
  let results;
  try { const s = await ort.InferenceSession.create(name, { logSeverityLevel: 4 }); results = await s.run(feeds); } catch (e) { return `onnxruntime does not run it: ${e.message.split('\n')[0].slice(0, 100)}`; }
  let compared = 0;
  for (const [tensor, value] of Object.entries(results)) {
    const t = io.outputs.find((x) => x.name.endsWith(`:${tensor}`));
    if (!t) bad.push(`output ${tensor} is not among ${io.outputs.map((x) => x.name)}`);
    else if (t.shape.length !== value.dims.length || t.shape.some((d, i) => d >= 0 && d !== value.dims[i])) bad.push(`output ${tensor}: shape ${JSON.stringify(t.shape)}, onnxruntime has ${JSON.stringify(value.dims)}`);
    else compared++;
  }
  return `${compared} outputs`;
}

async function main(argv) {
  const opt = {};
  for (const a of argv) {
    const m = /^--(om|onnx|inspect|origin|static|outputs|quiet)(?:=(.*))?$/.exec(a);
    if (!m) { console.error(`check: unknown argument ${a}`); return 2; }
    opt[m[1]] = m[2] ?? true;
  }
  if (!opt.om) { console.error('usage: check.mjs --om=F.om [--onnx=M.onnx] [--inspect=F.json] [--origin] [--outputs]'); return 2; }
  const bad = [], told = [];
  try {
    const file = new File(opt.om), dump = readModel(file, { check: true });
    bad.push(...checkRules(dump));
    told.push(`${dump.models[0].graphs.reduce((n, g) => n + g.ops.length, 0)} ops`);
    if (dump.models.length > 1) told.push(`${dump.models.length - 1} models of profiles`);
    if (opt.static) checkStatic(dump, bad);
    if (opt.inspect) checkInspect(dump, JSON.parse(fs.readFileSync(opt.inspect, 'utf8')), bad);
    if (opt.onnx) {
      const onnx = readOnnx(opt.onnx), c = checkConstants(file, dump, onnx, opt.origin, bad), n = checkNames(dump, onnx, bad);
      told.push(`${c.equal} constants equal, ${c.lowered} lowered, ${c.made} made`, `${n.nodes} nodes, ${n.unnamed} of them unnamed, ${n.absorbed} constants absorbed`);
      if (opt.outputs) told.push(await checkOutputs(dump, onnx, opt.onnx, bad));
    }
  } catch (e) {
    console.log(`check: ${opt.om}: ${process.env.OMDUMP_TRACE ? e.stack : e.message}`);
    return 1;
  }
  for (const b of bad) console.log(b);
  if (!opt.quiet) console.log(`${bad.length ? 'BAD' : 'ok'}: ${told.join('; ')}`);
  return bad.length ? 1 : 0;
}
process.exitCode = await main(process.argv.slice(2));
