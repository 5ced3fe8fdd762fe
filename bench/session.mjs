// session.mjs MODEL OUTPUT ROUNDS: onnxruntime's own "optimise everything and save", for comparison.
// Prints milliseconds and the process's peak memory in KiB, one line per round, each in a process of its own.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const [model, output, rounds, inner] = process.argv.slice(2);
if (inner) {
  const ort = createRequire(path.join(path.resolve(process.env.OMCC_NPM), 'package.json'))('onnxruntime-node');
  const start = process.hrtime.bigint();
  // Over 2 GB the weights have to go beside the saved model.
  const large = fs.existsSync(`${model}.data`);
  const extra = large ? { extra: { session: { optimized_model_external_initializers_file_name: 'optimised.onnx.data', optimized_model_external_initializers_min_size_in_bytes: '1024' } } } : {};
  await ort.InferenceSession.create(model, { graphOptimizationLevel: 'all', optimizedModelFilePath: output, logSeverityLevel: 4, ...extra });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  const peak = /VmHWM:\s*(\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1];
  console.log(`${ms.toFixed(1)} ${peak}`);
} else {
  for (let i = 0; i < Number(rounds); i++) {
    const done = spawnSync(process.execPath, [fileURLToPath(import.meta.url), model, output, '1', 'inner'], { encoding: 'utf8' });
    if (done.status !== 0) process.exit(1);
    process.stdout.write(done.stdout.split('\n').filter((l) => /^[\d.]+ \d+$/.test(l)).join('\n') + '\n');
  }
}
