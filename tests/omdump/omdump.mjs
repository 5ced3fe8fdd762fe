#!/usr/bin/env node
// omdump: read an Ascend .om file and print what is in it as JSON. It shares no code with
// omcc; tests read every file that omcc writes back with it.
//
//   node omdump.mjs [--summary | --display | --check] [--values=N] FILE.om
//     --summary   one screen instead of the whole dump
//     --display   the lines that the vendor's compiler prints with --mode=6
//     --check     only validate: structure, sizes, edges, weights, memory plan, and that
//                 MODEL_DEF and TASK_INFO encode back to the same bytes
//     --values=N  the first N elements of each weight (default 4)
//
// Exit status: 0 fine, 1 bad file or a finding, 2 usage or a package is missing.
import { File } from './container.mjs';
import { readModel, weightFirst, weightHash } from './model.mjs';
import { checkRules } from './rules.mjs';

function display(d) {
  const m = d.models[0], a = m.attrs;
  const s = (k) => (typeof a[k] === 'string' ? a[k] : ''), i = (k) => (typeof a[k] === 'number' ? a[k] : -1);
  const lines = ['============ Display Model Info start ============', `Original Atc command line: ${s('atc_cmdline')}`,
    `system   info: atc_version[${s('atc_version')}], soc_version[${s('soc_version')}], framework_type[${s('framework_type')}].`,
    `resource info: memory_size[${i('memory_size')} B], weight_size[${i('weight_size')} B], stream_num[${i('stream_num')}], event_num[${i('event_num')}].`];
  const o = a.om_info_list;
  if (!Array.isArray(o)) lines.push('Display Model Info failed, attr "om_info_list" is not found in om, check the version is matched.');
  else if (o.length !== 5) lines.push('Display Model Info error, please check!');
  else lines.push(`om       info: modeldef_size[${m.modeldef_size} B], weight_data_size[${o[0]} B], tbe_kernels_size[${o[1]} B], cust_aicpu_kernel_store_size[${o[2]} B], task_info_size[${o[3]} B], so_store_size[${o[4]} B].`);
  lines.push('============ Display Model Info end   ============');
  return lines.join('\n');
}

function summary(d) {
  return { file_size: d.file_size, header: d.header, notes: d.notes, models: d.models.map((m) => ({ name: m.name,
    partitions: m.partitions, attrs: m.attrs, io: m.io, memory: m.memory, tasks: m.tasks && { ...m.tasks, kernels: m.tasks.kernels.length },
    graphs: m.graphs?.map((g) => {
      const by = {};
      for (const o of g.ops) by[o.type] = (by[o.type] || 0) + 1;
      return { name: g.name, ops: g.ops.length, by_type: by, weights: g.weights.length, weight_bytes: g.weights.reduce((n, w) => n + (w.bytes || 0), 0) };
    }) })) };
}

// Cyclic helpers of the checks and raw bytes stay out of the output.
const hidden = new Set(['byName', 'parent', 'tensors', 'inline', 'start', 'step']);
const print = (v) => console.log(JSON.stringify(v, (k, x) => (hidden.has(k) ? undefined : x), 1));

function main(argv) {
  const opt = { values: 4 }, names = [];
  for (const a of argv) {
    const m = /^--([a-z-]+)(?:=(.*))?$/.exec(a);
    if (!m) names.push(a);
    else if (['summary', 'display', 'check'].includes(m[1])) opt[m[1]] = true;
    else if (m[1] === 'values') opt.values = Number(m[2]);
    else { console.error(`omdump: unknown option ${a}`); return 2; }
  }
  if (names.length !== 1) { console.error('usage: omdump.mjs [--summary | --display | --check] [--values=N] FILE.om'); return 2; }
  try {
    const file = new File(names[0]), d = readModel(file, opt);
    checkRules(d);
    if (opt.check) {
      for (const n of d.notes) console.log(n);
      return d.notes.length ? 1 : 0;
    }
    if (opt.display) { console.log(display(d)); return 0; }
    if (opt.summary) { print(summary(d)); return 0; }
    for (const g of d.models.flatMap((m) => m.graphs || [])) for (const w of g.weights) {
      w.sha256 = weightHash(file, w);
      w.first = weightFirst(file, w, opt.values);
    }
    print(d);
    return 0;
  } catch (e) {
    console.error(`omdump: ${names[0]}: ${process.env.OMDUMP_TRACE ? e.stack : e.message}`);
    return 1;
  }
}
process.exitCode = main(process.argv.slice(2));
