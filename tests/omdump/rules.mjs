// What must hold in a well-formed file, beyond parsing: sizes that are repeated agree, edges
// lead somewhere and both ends see the same tensor, constants lie where the format says,
// and the memory plan gives no byte to two tensors that live at the same time.
import { bytesOf } from './numbers.mjs';

const eq = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const padded = (bytes) => Math.ceil(bytes / 32) * 32 + 32;

function checkSizes(model, index, notes) {
  const part = (t) => model.partitions.find((p) => p.type === t)?.size || 0;
  const a = model.attrs, info = a.om_info_list;
  if (Array.isArray(info)) {
    const want = [part(1), part(3), part(4), part(2), index === 0 ? part(5) : 0];
    if (info.length !== 5) notes.push(`om_info_list has ${info.length} entries, display wants 5`);
    else if (!eq(info, want)) notes.push(`om_info_list ${JSON.stringify(info)} but partitions say ${JSON.stringify(want)}`);
  }
  if (a.weight_size !== undefined && a.weight_size !== part(1)) notes.push(`weight_size is ${a.weight_size}, WEIGHTS_DATA has ${part(1)} bytes`);
  if (model.tasks && a.memory_size !== undefined && a.memory_size !== model.tasks.memory_size) notes.push(`memory_size is ${a.memory_size}, TASK_INFO says ${model.tasks.memory_size}`);
}

// "producer:index" of input i, or null for an unconnected one or a control edge.
export function sourceOf(graph, text) {
  const k = text.lastIndexOf(':');
  if (k < 0) return null;
  return { op: graph.byName.get(text.slice(0, k)), name: text.slice(0, k), out: Number(text.slice(k + 1)) };
}

function checkEdges(g, strict, notes) {
  for (const op of g.ops) {
    op.inputs.forEach((text, i) => {
      if (text === '') return;
      const s = sourceOf(g, text);
      if (!s || !s.op) { notes.push(`op ${op.name}: input ${JSON.stringify(text)} names no op of its graph`); return; }
      if (s.out === -1) return;
      const from = s.op.output_descs[s.out], to = op.input_descs[i];
      if (!from) { notes.push(`op ${op.name}: input ${JSON.stringify(text)} but ${s.name} has ${s.op.output_descs.length} outputs`); return; }
      if (strict && to && (from.dtype !== to.dtype || !eq(from.shape, to.shape))) notes.push(`op ${op.name}: input ${i} is ${to.dtype}${JSON.stringify(to.shape)}, ${text} is ${from.dtype}${JSON.stringify(from.shape)}`);
    });
  }
}

function checkWeights(model, notes) {
  const all = model.graphs.flatMap((g) => g.weights).filter((w) => w.offset !== null && w.bytes);
  const sorted = [...all].sort((x, y) => x.offset - y.offset || x.bytes - y.bytes);
  sorted.forEach((w, i) => {
    if (w.offset < 512 || w.offset % 512) notes.push(`weight ${w.name}: offset ${w.offset} is not a multiple of 512 from 512 on`);
    const before = sorted[i - 1];
    if (before && before.offset !== w.offset && before.offset + before.bytes > w.offset) notes.push(`weights ${before.name} and ${w.name} overlap`);
  });
}

// Execution order: the ops of a sub-graph come before their parent's own step.
function timeline(model) {
  const byName = new Map(model.graphs.map((g) => [g.name, g])), ops = [];
  const stack = [{ graph: model.graphs[0], next: 0, subs: null }];
  while (stack.length) {
    const f = stack[stack.length - 1];
    if (f.next === f.graph.ops.length) { stack.pop(); continue; }
    const op = f.graph.ops[f.next];
    if (!f.subs) { f.subs = op.subgraphs.map((n) => byName.get(n)).filter(Boolean); op.start = ops.length; for (const s of f.subs) s.parent = op; }
    if (f.subs.length) { stack.push({ graph: f.subs.shift(), next: 0, subs: null }); continue; }
    op.step = ops.length;
    ops.push(op);
    f.next++;
    f.subs = null;
  }
  return ops;
}

// Every tensor with a place in memory: where, how large, and from when to when.
export function tensors(model) {
  const ops = timeline(model), list = [];
  const kernels = new Set((model.tasks?.kernels || []).map((k) => k.op_index));
  for (const g of model.graphs) for (const op of g.ops) {
    op.tensors = op.output_descs.map((d, k) => {
      const bytes = bytesOf(d.dtype, d.shape), at = op.output_offsets[k];
      if (bytes === null || at === undefined || at < 0 || op.type === 'Const') return null;
      return { name: `${op.name}:${k}`, at, size: padded(bytes), first: op.step, last: op.step, io: false };
    });
    // Reshape and the like: the same bytes under another name, so one tensor.
    const s = op.inputs.length && op.inputs[0] !== '' ? sourceOf(g, op.inputs[0]) : null;
    const from = s?.op?.tensors?.[s.out];
    const own = op.tensors[0];
    if (own && from && op.tensors.length === 1 && !kernels.has(op.id) && own.at === from.at && own.size === from.size) op.tensors[0] = from;
    else list.push(...op.tensors.filter(Boolean));
  }
  for (const g of model.graphs) for (const op of g.ops) {
    const edge = (t) => {
      if (!t) return;
      if (!g.parent) { t.io = true; t.first = 0; t.last = ops.length; return; }
      t.first = Math.min(t.first, g.parent.start);
      t.last = Math.max(t.last, g.parent.step);
    };
    if (op.type === 'Data') op.tensors.forEach(edge);
    for (const text of op.inputs) {
      const s = text === '' ? null : sourceOf(g, text), t = s && s.out >= 0 ? s.op?.tensors?.[s.out] : null;
      if (!t) continue;
      t.last = Math.max(t.last, op.step);
      if (op.type === 'NetOutput') edge(t);
    }
  }
  return { list, steps: ops.length };
}

export function checkMemory(model, notes) {
  const { list, steps } = tensors(model), size = model.attrs.memory_size;
  const sorted = [...list].sort((a, b) => a.at - b.at);
  for (let i = 0; i < sorted.length; i++) {
    const a = sorted[i];
    if (a.at % 32) notes.push(`tensor ${a.name}: offset ${a.at} is not a multiple of 32`);
    if (a.at + a.size > size) notes.push(`tensor ${a.name} ends at ${a.at + a.size}, memory_size is ${size}`);
    for (let k = i + 1; k < sorted.length && sorted[k].at < a.at + a.size; k++) {
      const b = sorted[k];
      if (a.first <= b.last && b.first <= a.last) notes.push(`tensors ${a.name} and ${b.name} share memory while both are alive`);
    }
  }
  const change = new Array(steps + 2).fill(0);
  for (const t of list) { change[t.first] += t.size; change[t.last + 1] -= t.size; }
  let live = 0, peak = 0;
  for (const c of change) { live += c; peak = Math.max(peak, live); }
  if (size < peak) notes.push(`memory_size is ${size}, but ${peak} bytes live at the same time`);
  return { size, peak };
}

// Files of the builtin backend: the mark, no kernels, a task for each op that computes.
function checkBuiltin(dump, model, notes) {
  if (model.partitions.some((p) => [3, 4, 5].includes(p.type))) notes.push('a builtin file holds kernels');
  const ops = new Map(model.graphs.flatMap((g) => g.ops).map((o) => [o.id, o]));
  if (ops.size !== model.graphs.reduce((n, g) => n + g.ops.length, 0)) notes.push('two ops have the same id');
  const seen = new Set();
  for (const k of model.tasks?.kernels || []) {
    if (!k.kernel.startsWith('omcc_builtin_no_kernel')) notes.push(`kernel ${k.kernel} does not say that it is absent`);
    const op = ops.get(k.op_index);
    if (!op) { notes.push(`a task names op ${k.op_index}, which is not there`); continue; }
    if (seen.has(op.id)) notes.push(`op ${op.name} has two tasks`);
    seen.add(op.id);
    const base = model.tasks.base_addr, wbase = model.tasks.weight_addr;
    const want = [...op.input_offsets.map((o, i) => (op.input_is_const[i] ? wbase + o : o < 0 ? 0 : base + o)), ...op.output_offsets.map((o) => (o < 0 ? 0 : base + o))];
    if (!eq(want, k.args)) notes.push(`op ${op.name}: task arguments ${k.args} are not its offsets ${want}`);
  }
  for (const op of ops.values()) {
    const lib = op.attrs._ge_attr_op_kernel_lib_name || '';
    if ((lib === 'AIcoreEngine' || lib.startsWith('aicpu')) && !seen.has(op.id)) notes.push(`op ${op.name} computes but has no task`);
  }
}

// A model per profile: the first one's ops with static shapes, its weights shared.
function checkProfiles(dump, notes) {
  const [root, ...rest] = dump.models, want = root.io?.profiles || [], out = [];
  if (rest.length !== want.length) notes.push(`${want.length} profiles, but ${rest.length} models of profiles`);
  const names = (m) => m.graphs.map((g) => g.ops.map((o) => [o.name, o.type, o.output_descs.map((d) => d.dtype)]));
  rest.forEach((m, i) => {
    if (!eq(m.attrs._profile, want[i])) notes.push(`model ${m.name} is for ${m.attrs._profile}, profile ${i} is ${want[i]}`);
    if (!eq(names(m), names(root))) notes.push(`model ${m.name} has other ops or dtypes than the first`);
    if (m.attrs.memory_size > root.attrs.memory_size) notes.push(`model ${m.name} needs more memory than the first tells`);
    if (m.io.inputs.some((t) => t.shape.some((d) => d < 0))) notes.push(`model ${m.name} has an input with an open dim`);
    m.io.outputs.forEach((t, k) => { if (!eq(t.shape, [-2])) out.push([i, k, ...t.shape].join(',')); });
    m.graphs.forEach((g, k) => g.weights.forEach((w, n) => {
      const first = root.graphs[k].weights[n];
      if (!w.shared || w.offset !== first?.offset || w.bytes !== first?.bytes) notes.push(`model ${m.name}: weight ${w.name} is not the first model's`);
    }));
    // the open dims of the inputs, in the order of the record, take the profile's values
    const taken = [];
    for (const name of root.io.profile_inputs || []) {
      const a = root.io.inputs.find((t) => t.name === name), b = m.io.inputs.find((t) => t.name === name), here = a.shape.map((d, x) => (d < 0 ? b.shape[x] : null)).filter((d) => d !== null);
      if (a.shape.some((d, x) => d >= 0 && d !== b.shape[x])) notes.push(`model ${m.name}: a fixed dim of ${name} differs`);
      if (root.io.profiles_of_each) { if (!eq(here, want[i])) notes.push(`model ${m.name}: ${name} is ${here}`); } else taken.push(...here);
    }
    if (!root.io.profiles_of_each && !eq(taken, want[i])) notes.push(`model ${m.name}: inputs take ${taken}, the profile is ${want[i]}`);
  });
  if (want.length && !eq(root.io.profile_shapes, out)) notes.push(`shapes of outputs in the record ${JSON.stringify(root.io.profile_shapes)} are not the models' ${JSON.stringify(out)}`);
  const said = root.graphs[0].ops.find((o) => o.type === 'NetOutput')?.attrs._dynamic_output_dims || [];
  if (want.length && !eq(said, out)) notes.push('_dynamic_output_dims is not what the record of shapes says');
}

export function checkRules(dump) {
  const notes = dump.notes;
  const builtin = dump.header.userdefineinfo.startsWith('omcc builtin');
  for (const [index, model] of dump.models.entries()) {
    if (!model.graphs) continue;
    checkSizes(model, index, notes);
    for (const g of model.graphs) {
      g.byName = new Map(g.ops.map((o) => [o.name, o]));
      if (g.byName.size !== g.ops.length) notes.push(`graph ${g.name}: two ops have the same name`);
      checkEdges(g, builtin, notes);
    }
    if (!builtin) continue;
    checkWeights(model, notes);
    model.memory = checkMemory(model, notes);
    checkBuiltin(dump, model, notes);
  }
  if (builtin) checkProfiles(dump, notes);
  return notes;
}
