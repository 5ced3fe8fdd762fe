// Where npm packages are: tests/run installs them into build/npm, never beside the sources.
// OMCC_NPM names another folder. A package that is not there gives null.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const places = [process.env.OMCC_NPM, path.join(here, '../../build/npm'), here].filter(Boolean);

export function findPackage(name) {
  for (const place of places) {
    if (!fs.existsSync(path.join(place, 'node_modules', name))) continue;
    return createRequire(path.join(path.resolve(place), 'package.json'))(name);
  }
  return null;
}

// Path of a file inside a package; null when it is not there.
export function packageFile(name, file) {
  for (const place of places) {
    const p = path.join(path.resolve(place), 'node_modules', name, file);
    if (fs.existsSync(p)) return p;
  }
  return null;
}

export function needPackage(name) {
  const p = findPackage(name);
  if (!p) {
    console.error(`the npm package '${name}' is not installed (looked in ${places.join(', ')}); tests/run installs it`);
    process.exit(2);
  }
  return p;
}

export function schema(file) {
  const pb = needPackage('protobufjs');
  return pb.parse(fs.readFileSync(path.join(here, file), 'utf8'), { keepCase: true }).root;
}
