#!/usr/bin/env node
// Compares inferred dtypes and shapes of every tensor with what onnxruntime computes.
//
//   ort_shapes.mjs INFER_MODELS FOLDER-OR-MODEL...
//
// Each content is looked at once; folders that are not there are passed over.
// Every result of every node of the main graph is made an output of the model (a protobuf
// message that is appended to another one is merged with it), the model is run once without
// optimisation, with inputs of a size given below, and each tensor's dims and dtype are
// compared with what infer_models says for the same --input_shape. Dims that depend on
// values may be open on our side; they are counted. Models that onnxruntime does not run
// are named. The exit status is 77 without the npm package.
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { findPackage, schema } from '../omdump/packages.mjs';

const ELEM = { 1: 'float32', 2: 'uint8', 3: 'int8', 4: 'uint16', 5: 'int16', 6: 'int32', 7: 'int64', 9: 'bool', 10: 'float16', 11: 'float64', 12: 'uint32', 13: 'uint64' };
const ARRAY = { float32: Float32Array, uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, bool: Uint8Array, float16: Uint16Array, float64: Float64Array, uint32: Uint32Array, uint64: BigUint64Array };
const OURS = { float64: 'double' };
// The IR's operator gives another dtype there (its public definition says so).
const ALSO = { int64: 'int32' };
// Sizes of open dims: by input, else by the dim's name, else 1; values of inputs that steer.
const DIMS = {
  'ch_PP-OCRv4_det_infer.onnx': { x: [1, 3, 64, 96] }, 'ch_PP-OCRv4_rec_infer.onnx': { x: [2, 3, 48, 96] },
  'ch_ppocr_mobile_v2.0_cls_infer.onnx': { x: [1, 3, 48, 192] }, 'melspectrogram.onnx': { input: [1, 4000] },
  'silero_vad_legacy.onnx': { input: [1, 512], h: [2, 1, 64], c: [2, 1, 64] }, 'silero_vad.onnx': { input: [1, 512] },
  'silero_vad_v5.onnx': { input: [1, 512], state: [2, 1, 128] }, 'silero_vad_v6.onnx': { input: [1, 512], state: [2, 1, 128] },
  'multi_attention.onnx': { q: [2, 3, 4], k: [2, 4, 3], v: [2, 3, 4], q1: [2, 3, 4], k1: [2, 4, 3], v1: [2, 3, 4] },
  'qlstm.onnx': { input: [5, 3] }, 'attention.onnx': { q: [2, 3, 4], k: [2, 4, 3], v: [2, 3, 4] },
};
const NAMED = { batch_size: 2, seq_len: 3, past_seq_len: 4, total_seq_len: 7, 'batch': 1 };
const VALUES = { sr: 16000 };

const [program, ...places] = process.argv.slice(2);

function onnxFiles(place) {
  if (!place || !fs.existsSync(place)) return [];
  if (!fs.statSync(place).isDirectory()) return [place];
  return fs.readdirSync(place, { recursive: true }).map(String).filter((f) => f.endsWith('.onnx')).sort().map((f) => path.join(place, f));
}
const seen = new Set();
const models = places.flatMap(onnxFiles).filter((f) => {
  const digest = crypto.createHash('sha256').update(fs.readFileSync(f)).digest('hex');
  return !seen.has(digest) && seen.add(digest);
});
const ort = findPackage('onnxruntime-node');
if (!ort || models.length === 0) {
  console.log('ort_shapes: SKIPPED, no onnxruntime-node, or no models');
  process.exit(77);
}
const root = schema('onnx.proto'), Model = root.lookupType('onnx.Model');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'omcc-ort-'));

function inputDims(file, v) {
  const given = DIMS[path.basename(file)]?.[v.name];
  if (given) return given;
  return (v.type?.tensor?.shape?.dims ?? []).map((d) => (d.v === 'value' && Number(d.value) > 0 ? Number(d.value) : NAMED[d.param] ?? 1));
}

function input(file, v) {
  const kind = ELEM[v.type?.tensor?.elem], dims = inputDims(file, v);
  if (!kind) throw new Error(`input ${v.name} has a dtype that is not fed`);
  const n = dims.reduce((a, b) => a * b, 1), data = new ARRAY[kind](n);
  if (v.name in VALUES) data.fill(kind.endsWith('64') && kind !== 'float64' ? BigInt(VALUES[v.name]) : VALUES[v.name]);
  return new ort.Tensor(kind, data, dims);
}

async function run(file, model, names) {
  const extra = Model.encode({ graph: { outputs: names.map((name) => ({ name })) } }).finish();
  const copy = path.join(scratch, 'model.onnx');
  fs.writeFileSync(copy, Buffer.concat([fs.readFileSync(file), Buffer.from(extra)]));
  for (const f of fs.readdirSync(path.dirname(file))) if (/\.(data|bin)$/.test(f)) fs.copyFileSync(path.join(path.dirname(file), f), path.join(scratch, f));
  const session = await ort.InferenceSession.create(copy, { graphOptimizationLevel: 'disabled', logSeverityLevel: 4 });
  const weights = new Set(model.graph.initializers.map((t) => t.name)), feeds = {};
  for (const v of model.graph.inputs) if (!weights.has(v.name)) feeds[v.name] = input(file, v);
  const results = await session.run(feeds);
  await session.release();
  return { feeds, results };
}

function ours(file, names, feeds) {
  const list = path.join(scratch, 'names'), feed = path.join(scratch, 'feed');
  fs.writeFileSync(list, names.join(';'));
  // Small whole numbers steer shapes: inference follows them as onnxruntime does.
  fs.writeFileSync(feed, Object.entries(feeds).filter(([, t]) => /int|bool/.test(t.type) && t.data.length <= 64)
    .map(([n, t]) => [n, t.type, t.dims.length ? t.dims.join(',') : '-', Buffer.from(t.data.buffer).toString('hex')].join('\t') + '\n').join('') || '\n');
  const shapes = Object.entries(feeds).map(([n, t]) => `${n}:${t.dims.join(',')}`).filter((s) => !s.endsWith(':')).join(';');
  const words = shapes ? ['--input_shape', shapes] : [];
  const said = execFileSync(program, ['--tensors', list, '--feed', feed, ...words, file], { encoding: 'utf8', maxBuffer: 1 << 28 });
  return JSON.parse(said);
}

let wrong = 0, compared = 0, open = 0, notRun = 0;
for (const file of models) {
  const model = Model.toObject(Model.decode(fs.readFileSync(file)), { defaults: true, oneofs: true, longs: Number });
  const own = new Set(model.graph.outputs.map((v) => v.name));
  const names = [...new Set(model.graph.nodes.flatMap((n) => n.outputs))].filter((n) => n !== '');
  let peer;
  try {
    peer = await run(file, model, names.filter((n) => !own.has(n)));
  } catch (e) {
    console.log(`${path.basename(file)}: onnxruntime does not run it: ${String(e.message).split('\n')[0].slice(0, 100)}`);
    notRun++;
    continue;
  }
  const said = ours(file, names, peer.feeds);
  let here = 0, bad = 0, left = 0;
  for (const t of said.outputs ?? []) {
    const r = peer.results[t.name];
    if (!r?.dims) continue;
    const want = OURS[r.type] ?? r.type;
    here++;
    const dims = t.dims, differs = dims && (dims.length !== r.dims.length || dims.some((d, i) => d !== null && d !== r.dims[i]));
    if (!dims || dims.some((d) => d === null)) left++;
    if (differs || (t.dtype !== want && t.dtype !== ALSO[want])) {
      bad++;
      console.log(`  ${t.name} (${t.type}): ${t.dtype} [${dims}], onnxruntime ${want} [${r.dims}]`);
    }
  }
  if (!said.ok) { bad++; console.log(`  ${said.error}`); }
  console.log(`${path.basename(file)}: ${here} tensors compared, ${bad} differ, ${left} open`);
  compared += here; wrong += bad; open += left;
}
fs.rmSync(scratch, { recursive: true, force: true });
console.log(`${models.length} models, ${notRun} not run by onnxruntime, ${compared} tensors compared, ${open} with open dims, ${wrong} differ`);
process.exit(wrong || !compared ? 1 : 0);
