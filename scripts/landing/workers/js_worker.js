// Long-lived worker for jsdiff (npm package "diff"). One JSON request a line, as for py_worker.py.
// JSDIFF names the package's main file. Writes everything or nothing, since the library itself writes nothing.
const fs = require('fs'), path = require('path'), readline = require('readline');
const diff = require(process.env.JSDIFF);

const strip = p => (p === undefined ? undefined : p === '/dev/null' ? null : p.replace(/^[ab]\//, ''));
function safe(p) {
  if (p && (path.isAbsolute(p) || p.split('/').includes('..'))) throw new Error('unsafe path ' + p);
}
function go(dir, text) {
  const ps = diff.parsePatch(text).filter(p => p.hunks.length || p.isRename || p.oldMode);
  if (!ps.length) throw new Error('no patch found');
  const plan = new Map();
  const read = f => plan.has(f) ? plan.get(f).text : fs.readFileSync(path.join(dir, f), 'utf8');
  for (const p of ps) {
    const o = strip(p.oldFileName), n = strip(p.newFileName);
    if (o === undefined && n === undefined) throw new Error('no file name');
    safe(o); safe(n);
    const base = (o === null || p.isCreate) ? '' : read(o);
    if ((o === null || p.isCreate) && fs.existsSync(path.join(dir, n))) throw new Error('exists');
    const out = p.hunks.length ? diff.applyPatch(base, p) : base;
    if (out === false) throw new Error('does not apply: ' + n);
    if (n === null || p.isDelete) {
      if (out !== '') throw new Error('delete leaves content');
      plan.set(o, { text: null });
    } else {
      let mode = p.newMode && p.newMode.endsWith('755') ? 0o755 : p.newMode ? 0o644 : undefined;
      if (p.isRename && o !== n) {
        if (fs.existsSync(path.join(dir, n))) throw new Error('exists');
        if (mode === undefined) mode = fs.statSync(path.join(dir, o)).mode & 0o777;
        plan.set(o, { text: null });
      } else if (o !== null && !p.isCreate && o !== n) throw new Error('two names');
      plan.set(n, { text: out, mode });
    }
  }
  for (const [f, v] of plan) {
    const full = path.join(dir, f);
    if (v.text === null) {
      fs.unlinkSync(full);
      let d = path.dirname(full);
      while (d !== dir && !fs.readdirSync(d).length) { fs.rmdirSync(d); d = path.dirname(d); }
    } else {
      fs.mkdirSync(path.dirname(full), { recursive: true });
      fs.writeFileSync(full, v.text);
      if (v.mode !== undefined) fs.chmodSync(full, v.mode);
    }
  }
}
readline.createInterface({ input: process.stdin }).on('line', line => {
  const q = JSON.parse(line);
  const text = fs.readFileSync(q.patch, 'utf8');
  const t0 = process.hrtime.bigint();
  let rc = 0, err = '';
  try { if (q.tool !== 'warm') go(q.dir, text); } catch (e) { rc = 1; err = String(e).slice(0, 300); }
  const ms = Number(process.hrtime.bigint() - t0) / 1e6;
  process.stdout.write(JSON.stringify({ rc, ms, err }) + '\n');
});
