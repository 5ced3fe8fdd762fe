// The container of an .om file, read at offsets: header, tables and small partitions only;
// weights are read in pieces when somebody asks. Files of any size work.
import fs from 'node:fs';
import { FORMATS, PARTITIONS, RUNTIME, num } from './numbers.mjs';

export class BadOm extends Error {}

const text = (b) => {
  const z = b.indexOf(0);
  return (z < 0 ? b : b.subarray(0, z)).toString('utf8');
};

export class File {
  constructor(name) {
    this.name = name;
    this.fd = fs.openSync(name, 'r');
    this.size = fs.fstatSync(this.fd).size;
  }
  close() { fs.closeSync(this.fd); }
  read(at, size) {
    if (at < 0 || size < 0 || at + size > this.size) throw new BadOm(`bytes ${at}+${size} are outside the file (${this.size})`);
    const b = Buffer.alloc(size);
    for (let done = 0; done < size;) {
      const n = fs.readSync(this.fd, b, done, Math.min(size - done, 1 << 30), at + done);
      if (n === 0) throw new BadOm('the file became shorter while it was read');
      done += n;
    }
    return b;
  }
  // Calls f with consecutive pieces of [at, at + size).
  each(at, size, f, step = 1 << 22) {
    for (let done = 0; done < size; done += step) f(this.read(at + done, Math.min(step, size - done)), done);
  }
}

function readHeader(file) {
  if (file.size < 256) throw new BadOm(`file has ${file.size} bytes, the header alone needs 256`);
  const b = file.read(0, 256), notes = [];
  const h = { magic: b.toString('latin1', 0, 4) };
  if (h.magic !== 'IMOD') throw new BadOm(`magic is ${JSON.stringify(h.magic)}, want "IMOD"`);
  h.headsize = b.readUInt32LE(4);
  h.version = b.readUInt32LE(8);
  h.checksum = b.subarray(12, 76).every((c) => c === 0) ? null : b.toString('hex', 12, 76);
  h.length = b.readUInt32LE(76);
  [h.is_encrypt, h.is_checksum, h.modeltype, h.genmode] = b.subarray(80, 84);
  h.name = text(b.subarray(84, 116));
  h.ops = b.readUInt32LE(116);
  h.userdefineinfo = text(b.subarray(120, 152));
  h.om_ir_version = b.readUInt32LE(152);
  const v2 = h.version >= 0x20000000;
  if (v2) {
    h.model_num = b.readUInt32LE(156);
    h.platform_version = text(b.subarray(160, 180));
    h.platform_type = b[180];
    h.model_length = num(b.readBigUInt64LE(184));
    h.need_check_os_cpu_info = b[192];
    h.is_unknown_model = b[193];
    if (b.subarray(181, 184).some((c) => c) || b.subarray(194, 256).some((c) => c)) notes.push('reserved header bytes are not zero');
  } else {
    Object.assign(h, { model_num: 1, platform_version: text(b.subarray(156, 176)), platform_type: b[176],
      model_length: 0, need_check_os_cpu_info: 0, is_unknown_model: 0 });
  }
  if (h.headsize !== 256) notes.push(`headsize is ${h.headsize}, every known loader assumes 256`);
  return { h, v2, notes };
}

function readTable(file, at, index, kind, notes) {
  const n = file.read(at, 4).readUInt32LE(0);
  const limit = kind.flow ? 4096 : kind.bundle ? 65536 : 8;
  if (n < 1 || n > limit) throw new BadOm(`table ${index} lists ${n} partitions (1..${limit} allowed)`);
  const size = kind.wide ? 8 + 24 * n : 4 + 12 * n;
  const t = file.read(at, size), base = at + size, parts = [];
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const o = kind.wide ? 8 + 24 * i : 4 + 12 * i;
    const type = t.readUInt32LE(o);
    const offset = kind.wide ? Number(t.readBigUInt64LE(o + 8)) : t.readUInt32LE(o + 4);
    const bytes = kind.wide ? Number(t.readBigUInt64LE(o + 16)) : t.readUInt32LE(o + 8);
    if (kind.wide && t.readUInt32LE(o + 4) !== 0) notes.push(`table ${index} entry ${i}: padding after type is not zero`);
    const start = kind.bundle ? 256 + offset : base + sum;
    if (!kind.bundle && offset !== sum) notes.push(`table ${index} entry ${i}: offset ${offset} but data runs on at ${sum}`);
    if (start + bytes > file.size) throw new BadOm(`table ${index} entry ${i} (type ${type}) ends at ${start + bytes}, file has ${file.size}`);
    if (!(type in PARTITIONS)) notes.push(`table ${index} entry ${i}: unknown partition type ${type}`);
    if (!kind.bundle && !kind.flow && parts.some((p) => p.type === type)) notes.push(`table ${index}: partition type ${type} appears twice`);
    parts.push({ type, name: PARTITIONS[type] || `type_${type}`, at: start, offset, size: bytes });
    sum += bytes;
  }
  if (kind.wide && n === 1) notes.push(`table ${index} has one partition: loaders call that a model that cannot run`);
  return { table_at: at, partitions: parts, end: base + sum };
}

export function readContainer(file) {
  const { h, v2, notes } = readHeader(file);
  const bundle = v2 && h.modeltype === 5, flow = v2 && h.modeltype === 3;
  const body = h.model_length !== 0 ? h.model_length : h.length;
  if (!bundle && body !== file.size - 256) throw new BadOm(`header says ${body} body bytes, file has ${file.size - 256}`);
  const kind = { bundle, flow, wide: h.model_length !== 0 || flow || bundle };
  h.table = kind.wide ? 64 : 32;
  const dynamic = v2 && !bundle && !flow && (h.model_num > 1 || h.is_unknown_model === 1);
  const models = [];
  let at = 256;
  for (let m = 0; m < (dynamic ? h.model_num : 1); m++) {
    models.push(readTable(file, at, m, kind, notes));
    at = models[m].end;
  }
  if (!bundle && at !== file.size) notes.push(`${file.size - at} bytes left over after the last partition`);
  return { header: h, models, notes };
}

// ---------------------------------------------------------------- small partitions

function readDescs(v) {
  const n = v.readUInt32LE(0), list = [];
  let p = 4;
  for (let i = 0; i < n; i++) {
    const size = num(v.readBigUInt64LE(p)), fmt = v.readInt32LE(p + 8), dt = v.readInt32LE(p + 12);
    const [nameLen, dimsLen, dims2Len, rangeLen] = [16, 20, 24, 28].map((k) => v.readUInt32LE(p + k));
    p += 32;
    const name = v.toString('utf8', p, p + nameLen);
    p += nameLen;
    const ints = (bytes) => {
      const r = [];
      for (let k = 0; k < bytes; k += 8) r.push(num(v.readBigInt64LE(p + k)));
      p += bytes;
      return r;
    };
    const shape = ints(dimsLen), shape2 = ints(dims2Len), range = ints(rangeLen);
    list.push({ name, dtype: RUNTIME[dt] ?? dt, format: FORMATS[fmt & 0xff] ?? fmt, shape, shape_v2: shape2, range, size });
  }
  if (p !== v.length) throw new BadOm('MODEL_INOUT_INFO: tensor list length does not match');
  return list;
}

// Lists of numbers behind their lengths.
function readLists(v) {
  const n = v.readUInt32LE(0), list = [];
  let p = 4 + 4 * n;
  for (let i = 0; i < n; i++) {
    const one = [];
    for (let k = v.readUInt32LE(4 + 4 * i); k > 0; k--, p += 8) one.push(num(v.readBigInt64LE(p)));
    list.push(one);
  }
  if (p !== v.length) throw new BadOm('MODEL_INOUT_INFO: list length does not match');
  return list;
}
function readTexts(v) {
  const n = v.readUInt32LE(0), list = [];
  let p = 4 + 4 * n;
  for (let i = 0; i < n; i++) { const l = v.readUInt32LE(4 + 4 * i); list.push(v.toString('utf8', p, p + l)); p += l; }
  return list;
}
function readNumbers(v) {
  const n = v.readUInt32LE(0), list = [];
  for (let i = 0; i < n; i++) list.push([num(v.readBigInt64LE(4 + 8 * i))]);
  if (4 + 8 * n !== v.length) throw new BadOm('MODEL_INOUT_INFO: number of batch sizes does not match');
  return list;
}

export function readInOut(b) {
  const out = {};
  for (let o = 0; o < b.length;) {
    if (o + 8 > b.length) throw new BadOm('MODEL_INOUT_INFO: short record');
    const t = b.readUInt32LE(o), l = b.readUInt32LE(o + 4);
    if (o + 8 + l > b.length) throw new BadOm('MODEL_INOUT_INFO: record past the end');
    const v = b.subarray(o + 8, o + 8 + l);
    if (t === 0) out.inputs = readDescs(v);
    else if (t === 1) out.outputs = readDescs(v);
    else if (t >= 2 && t <= 4) { out.profiles = t === 2 ? readNumbers(v) : readLists(v); out.profiles_of_each = t !== 4; } // batch and image sizes hold for every input
    else if (t === 5) out.profile_shapes = readTexts(v);
    else if (t === 6) out.profile_inputs = readTexts(v);
    else out[`record_${t}`] = l;
    o += 8 + l;
  }
  return out;
}

export function readKernels(file, part) {
  const list = [];
  for (let o = 0; part.size - o >= 12;) {
    const head = file.read(part.at + o, 12);
    if (head.readUInt32LE(0) !== 0x5d776efd) throw new BadOm(`kernel store: bad record at ${o}`);
    const nl = head.readUInt32LE(4), bl = head.readUInt32LE(8);
    if (o + 12 + nl + bl > part.size) throw new BadOm('kernel store: record past the end');
    list.push({ name: file.read(part.at + o + 12, nl).toString('utf8'), size: bl });
    o += 12 + nl + bl;
  }
  return list;
}
