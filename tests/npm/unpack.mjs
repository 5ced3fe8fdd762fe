#!/usr/bin/env node
// Installs the packages of a package-lock.json one by one, without resolving anything: for
// an npm that cannot read this lock (Debian 12's 9.2 refuses aliases in `overrides`).
//
//   unpack.mjs DIR      DIR holds package-lock.json; writes DIR/node_modules
//
// Each tarball comes through `npm pack` and must have the digest that the lock records.
// Aliases are left out: they stand in for packages that nothing here loads.
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const dir = path.resolve(process.argv[2] ?? '.');
const lock = JSON.parse(fs.readFileSync(path.join(dir, 'package-lock.json'), 'utf8'));
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'omcc-npm-'));

function unpack(place, name, entry) {
    const said = execFileSync('npm', ['pack', `${name}@${entry.version}`, '--json', '--ignore-scripts', '--loglevel=error'],
        { cwd: scratch, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    const file = path.join(scratch, JSON.parse(said)[0].filename.replace(/^@/, '').replace('/', '-'));
    const digest = `sha512-${crypto.createHash('sha512').update(fs.readFileSync(file)).digest('base64')}`;
    if (digest !== entry.integrity) throw new Error(`${name}@${entry.version} is not what the lock says: ${digest}`);
    const target = path.join(dir, place);
    fs.mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', file, '-C', target, '--strip-components=1']);
    fs.rmSync(file);
}

try {
    for (const [place, entry] of Object.entries(lock.packages)) {
        const name = place.replace(/^.*node_modules\//, '');
        if (place === '' || (entry.name && entry.name !== name)) continue;
        unpack(place, name, entry);
    }
} catch (error) {
    console.error(`unpack: ${error.message}`);
    process.exitCode = 1;
} finally {
    fs.rmSync(scratch, { recursive: true, force: true });
}
